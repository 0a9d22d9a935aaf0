# native/codes.py for the kernels; what the codes mean is said there.

# ---- nodes

cdef enum:
    FITS = 0
    PREEMPTS = 1
    UNSCHEDULABLE = 2
    EXHAUSTED = 3

cdef enum:
    INFEASIBLE = 0
    FEASIBLE = 1
    SPENT = -1

# ---- quota

cdef enum:
    UNSET = -1

cdef enum:
    NEVER = 0
    LOWER_PRIORITY = 1
    LOWER_OR_NEWER = 2
    ANY = 3

cdef enum:
    IN_CLUSTER_QUEUE = 0
    TIME_BASED = 1
    RECLAMATION = 2
    WHILE_BORROWING = 3
    FAIR_SHARING = 4

cdef enum:
    NO_CANDIDATES = 0
    PREEMPT = 1
    RECLAIM = 2

cdef enum:
    FINAL_SHARE = 0
    INITIAL_SHARE = 1

cdef enum:
    TAKEN = 0
    PUT_BACK = 1
    QUEUE_WITHIN_NOMINAL = 2
    COHORT_WITHIN_QUOTA = 3
    WOULD_BORROW = 4
    SHARE_REFUSED = 5
