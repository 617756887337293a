package mess

// Transition is a step in the life of a task that matters for physical actions, with its
// name in comments and in the model docs/model/execution.pml.
type Transition struct {
	Name  string // "T4"
	From  []Code // any of these; "" is a nonexistent thread
	To    []Code // any of these; none if the status does not change
	By    Party
	Guard string // further condition
}

// Transitions contains the steps that prevent duplicate physical actions and lost requests.
// Steps without a status belong to the executor, on its disk and in the physical world.
var Transitions = []Transition{
	{"T1", []Code{""}, []Code{Pending}, rq, "one thread for a requester and its id of the request"},
	{"T2", []Code{Pending}, []Code{Claimed}, ex, "compare and swap; the epoch rises; able, in time, after its dependencies"},
	{"T3", []Code{Claimed, NeedsConfirmation}, []Code{NeedsConfirmation, Claimed}, ex | rq, "a yes is for one claim, one plan and one question"},
	{"T4", []Code{Claimed}, []Code{InProgress}, ex, "holder, epoch, not cancelled, needed_by, confirmed; the same holder may ask again"},
	{"T5", nil, nil, ex, "the intent is on the disk, and the answer at the gate at most two seconds old"},
	{"T6", nil, nil, ex, "the physical action begins"},
	{"T7", nil, nil, ex, "the report is on the disk"},
	{"T8", []Code{InProgress, Held}, []Code{Completed, Partial, Failed}, ex, "holder and epoch"},
	{"T9", []Code{Claimed, NeedsConfirmation, InProgress}, []Code{Pending, Failed}, xc | ex, "the lease is over before the start, or the holder has died at the start gate and knows that it did nothing"},
	{"T10", []Code{InProgress, Held}, []Code{Held, InProgress}, xc, "the holder is silent, or back"},
	{"T11", []Code{Held}, []Code{Pending, Failed}, xc, "silent for long: the exchange offers repeatable work again"},
	{"T12", []Code{Pending, Claimed, NeedsConfirmation}, []Code{Cancelled}, rq, "before the start: compare and swap against T4"},
	{"T13", []Code{InProgress, Held}, []Code{Cancelled}, ex | rq, "after the start: the requester orders, the holder says that it has stopped"},
	{"T14", nil, nil, ex, "the exchange keeps a late report as evidence"},
}
