"""Front end, from the warps' uop streams to the collectors: instruction buffers, scoreboard, schedulers,
barriers."""
