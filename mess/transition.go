package mess

// Transition is a step in the life of a task that matters for physical actions. Comments and the
// model docs/model/execution.pml refer to it by its name.
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
	{"T2", []Code{Pending}, []Code{Claimed}, ex, "no other claim; the epoch rises; the executor is able, the time is right, the dependencies have ended"},
	{"T3", []Code{Claimed, NeedsConfirmation}, []Code{NeedsConfirmation, Claimed}, ex | rq, "a confirmation is for one claim, one plan and one question"},
	{"T4", []Code{Claimed}, []Code{InProgress}, ex, "the holder, with its epoch; not cancelled, not late, confirmed; the same holder may ask again"},
	{"T5", nil, nil, ex, "the intent is on the disk, and the start permission is at most two seconds old"},
	{"T6", nil, nil, ex, "the physical action begins"},
	{"T7", nil, nil, ex, "the report is on the disk"},
	{"T8", []Code{InProgress, Held}, []Code{Completed, Partial, Failed}, ex, "the holder, with its epoch"},
	{"T9", []Code{Claimed, NeedsConfirmation, InProgress}, []Code{Pending, Failed}, xc | ex, "the lease is over before the start, or the holder died after the start permission and knows that it did nothing"},
	{"T10", []Code{InProgress, Held}, []Code{Held, InProgress}, xc, "the holder is silent, or sends again"},
	{"T11", []Code{Held}, []Code{Pending, Failed}, xc, "the holder stays silent: pending again if a repetition is harmless, else failed"},
	{"T12", []Code{Pending, Claimed, NeedsConfirmation}, []Code{Cancelled}, rq, "before the start: either T4 or T12 happens"},
	{"T13", []Code{InProgress, Held}, []Code{Cancelled}, ex | rq, "after the start: the requester orders it, and the holder reports that it has stopped"},
	{"T14", nil, nil, ex, "the exchange keeps a late report as evidence"},
}
