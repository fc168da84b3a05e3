"""Array layout of the emulator: rows of a warp's register file, columns of an encoded instruction, and state
words. Compiled code and the Python around it share these numbers."""

from __future__ import annotations

# Rows of the register file of one warp. Constants have rows of their own, so an operand is always a row.
OUT = 0  # results of the current instruction, before they are written under its mask: four rows
SCRATCH = 4  # sources with modifiers applied: two rows for each of three sources
ZERO = 10  # four rows of zeros: RZ
FIRST = 14  # first row of registers, then constants

# Rows of the predicate file of one warp, one lane mask each.
TRUE = 0
DISCARD = 1  # where writes to PT go
FIRST_PREDICATE = 2

# Columns of an encoded instruction.
GROUP = 0  # which function executes it: GROUP_*
OP = 1
DTYPE = 2
STYPE = 3
GUARD = 4  # predicate row
GUARD_NOT = 5  # all ones if negated
DESTINATION = 6
COUNT = 7  # words written; 0: none
SOURCE = 8  # rows of up to five sources
PREDICATE = 13  # rows of up to two predicate results
QUERY = 15  # rows of up to three predicate sources
QUERY_NOT = 18
CMP = 21
BOOLOP = 22
RND = 23
FTZ = 24
SAT = 25
AUX = 26
MODIFIED = 27  # bit i: source i is copied to SCRATCH with abs, neg or flushing applied
NEG = 28
ABS = 29
FINISH = 30  # result is flushed or saturated
SPACE = 31
SIZE = 32
OFFSET = 33
WIDE = 34  # address is 64 bits
TARGET = 35  # pc of a branch
MEET = 36  # pc where lanes that part at this branch meet again; -1: nowhere
TRACE_PC = 37  # pc in the job's trace
SOURCES = 38  # number of register sources (BAR: 2 if a thread count is given)
WRITES_PREDICATE = 39
COLUMNS = 40

GROUP_CONTROL = 0
GROUP_INTEGER = 1
GROUP_BITS = 2
GROUP_COMPARE = 3
GROUP_F32 = 4  # single precision, round to nearest
GROUP_F64 = 5  # double precision, round to nearest
GROUP_ROUNDED = 6  # other roundings
GROUP_HALF = 7
GROUP_MUFU = 8
GROUP_CONVERT = 9
GROUP_LANES = 10
GROUP_TENSOR = 11
GROUP_MEMORY = 12
GROUP_MOVE = 13
GROUP_SPECIAL = 14

# State of the run, int64 words.
STATUS = 0
CTA = 1  # linear index of the CTA that runs
TURN = 2  # warp whose turn it is
EXECUTED = 3
THREADS = 4  # lanes summed over executed instructions
LIMIT = 5
ROWS = 6  # trace rows written: DYNAMIC, values, lines, segments
VALUES = 7
LINES = 8
SEGMENTS = 9
FAULT = 10  # what went wrong: FAULT_*, then warp, lane, pc, address, space
FAULT_WARP = 11
FAULT_LANE = 12
FAULT_PC = 13
FAULT_ADDRESS = 14
FAULT_SPACE = 15
STARTED = 16  # the current CTA has been set up
TRACING = 17
LAST_CTA = 18
STATE_WORDS = 20

# STATUS
DONE = 0
NEEDS_ROOM = 1  # trace arrays must grow
FAULTED = 2
DEADLOCK = 3
ENDLESS = 4

# FAULT
OUT_OF_BOUNDS = 1
MISALIGNED = 2
TRAPPED = 3
BAD_BARRIER = 4
TREE_FULL = 5
RAN_OFF = 6
BAD_SPACE = 7
TWO_BARRIERS = 8
UNEVEN_BARRIER = 9

# State of a warp, int64 words.
CURRENT = 0  # entry that runs; -1: none can
LIVE = 1  # lanes that have not exited
CLOCK = 2  # instructions executed
TOP = 3  # entries in use are below
PHASE = 4
EXISTS = 5  # lanes that exist
PENDING = 6  # barriers with lanes of this warp at them
LOOP = 7  # pc of the last backward branch
WARP_WORDS = 8

RUNNING = 0
WAITING = 1
EXITED = 2

# An entry of a warp's tree of divergent lanes, int64 words.
E_PC = 0
E_MASK = 1
E_MEET = 2  # pc at which these lanes wait for the rest; -1: never
E_PARENT = 3  # entry that waits for this one; -1: none
E_CHILDREN = 4  # entries this one waits for
E_BARRIER = 5  # barrier these lanes are blocked at; -1: none
E_BARRIER_PC = 6
E_VALUE = 7  # trace row of the value that bar.red will deliver
E_USED = 8
ENTRY_WORDS = 9
ENTRIES = 128

BARRIERS = 16
# State of a CTA barrier, int64 words.
B_THREADS = 0  # threads that must arrive; 0: all that have not exited
B_COUNT = 1  # bar.red: popc, and, or so far
B_AND = 2
B_OR = 3
BARRIER_WORDS = 4

# Columns of the special-register block, int64 words: launch geometry.
G_BLOCK = 0
G_GRID = 3
G_WARPS = 6
G_LAUNCH = 7
G_THREADS = 8
G_SHARED_BYTES = 9
G_LOCAL_BYTES = 10
G_CONST_BYTES = 11
G_SHARED_AT = 12  # places in the memory array
G_LOCAL_AT = 13
G_CONST_AT = 14
G_BUFFERS = 15  # number of buffers
G_CODE = 16  # number of instructions
G_FIRST_WARP = 17  # trace number of the launch's first warp
G_ROWS = 18
GEOMETRY_WORDS = 20

#: Warp instructions a warp executes before it is another's turn.
SLICE = 4096
#: Most 128-byte lines one access can touch: 32 lanes of a 16-byte local access, each word in a line of its
#: own.
MAX_LINES = 128
#: Line number of the first line of local memory.
LOCAL_LINES = 1 << 40
