/* One task from its request to its end: what may happen to a physical action,
   whatever is lost, doubled, late or dead, and whenever. The steps T1 to T14 are
   those of mess.Transitions; a test holds the two against each other. `make
   model` checks this file, and that each piece which is left out (the names in
   #ifdef) is missed.

   Time is not modelled: what a timer does may happen at any moment. A lost
   message is one that comes later, since its sender repeats it; a doubled one
   lies in `stray` and comes whenever it likes. Several exchanges share the
   record. Each judges a message by its own copy, which may be older. A write
   names the revision of that copy, and the store refuses it if the record has
   changed. An exchange that would refuse a message reads the record first. So
   the newest record judges each step, as below. NO_REVISION and OLD_REFUSAL
   leave these two out: old_* is then the copy of an exchange that has not heard
   of the last write. An executor reboots or dies for
   good between any two steps. Crashes, lost answers, strays and false alarms of
   timers together are at most FAULTS, less than there are executors, so that
   somebody lives to see the end. Executors are alike, so the first claims are
   made in the order of their numbers. */
#ifndef EXECUTORS
#define EXECUTORS 4
#endif
#ifndef FAULTS
#define FAULTS 3
#endif
#ifndef ATTEMPTS
#define ATTEMPTS 3
#endif
#define NOBODY 255

mtype = { nothing, pending, claimed, needs_confirmation, in_progress, held, completed, partial, failed, cancelled, expired };
mtype = { no_effect, some_effect, unknown_effect };
mtype = { claim, report };

/* The exchange's record. It is on the disk before anybody is answered. */
mtype st = nothing;
mtype effect = no_effect;  /* what the last word says about the world */
byte epoch = 0;            /* the fence, +1 with every claim */
byte owner = NOBODY;
bool process = false;      /* the process that has claimed is still alive */
bool acting = false;       /* the start gate was passed under this claim */
bool begun = false;        /* ... or under an earlier one, whose holder is lost */
bool stop = false;         /* cancelled after the start */
byte confirmed = 0;        /* the epoch that a yes was taken for */
byte attempts = 0;
bool must_confirm;
bool patient;              /* the requester does not cancel */

/* Each executor's journal, on its disk. */
byte intent[EXECUTORS];    /* epoch of the intent; 0: none */
mtype done[EXECUTORS];     /* the report in the outbox; 0: none */
mtype done_effect[EXECUTORS];
byte done_epoch[EXECUTORS];

/* The way to the exchange, and what time has made of a permission. */
chan stray = [1] of { mtype, byte, byte, mtype, mtype };
bool fresh[4];             /* the answer at the gate is at most two seconds old */

/* What an onlooker sees. */
byte acts = 0;
byte acted_as[EXECUTORS];  /* epoch under which the executor has acted last */
byte yes_meant = 0;        /* the epoch that the requester has looked at */
bool cancel_acked = false; /* "cancelled before it began" */
bool late = false;         /* needed_by was more than two seconds ago */
byte faults = 0;
byte known = 0;            /* executors that have claimed */

#ifdef IDEMPOTENT
#define MAY_ACT true
#else
#define MAY_ACT (acts == 0)
#endif
#define OVER (st == completed || st == partial || st == failed || st == cancelled || st == expired)
#define HOLDS(i, e) (owner == i && epoch == e && st != pending && !OVER)
#define FAULT (faults < FAULTS)

#ifdef LATE_REPEAT
#define REPEAT true
#else
#define REPEAT (!late)
#endif

#define FROM(s) (st == s)
#define TO(s) to(s)

inline honest() {
	assert(!(cancel_acked && acts > 0));                        /* I7 */
	assert(!((st == completed || st == partial) && acts == 0)); /* I3 */
	assert(!(OVER && effect == no_effect && acts > 0))          /* I3 */
}

inline to(s) {
	assert(!OVER);                                              /* I5 */
	st = s;
	honest()
}

inline free() { owner = NOBODY; process = false; acting = false; confirmed = 0 }

#if defined(ACK_BEFORE_SYNC) || defined(NO_REVISION) || defined(OLD_REFUSAL)
mtype old_st = nothing; byte old_epoch = 0; byte old_owner = NOBODY; bool old_acting = false; bool cut = false;
inline sync() { old_st = st; old_epoch = epoch; old_owner = owner; old_acting = acting }
#else
inline sync() { skip }
#endif

/* ---- the steps ---- */

inline T1_create() { FROM(nothing) -> TO(pending) }

inline T2_claim(i) {
	FROM(pending) ->
	sync();
	epoch++; owner = i; process = true; acting = false; confirmed = 0;
	TO(claimed)
}

inline T3_ask(i, e) { FROM(claimed) && HOLDS(i, e) -> TO(needs_confirmation) }

inline T3_yes(e) {
#ifdef YES_FOR_ANY_CLAIM
	FROM(needs_confirmation) && e > 0 -> confirmed = epoch;
#else
	FROM(needs_confirmation) && e > 0 && e == epoch -> confirmed = e;
#endif
	TO(claimed)
}

/* What the start gate asks, apart from the status. A repeat by the holder is
   answered with yes. */
#ifdef NO_FENCE
#define GATE(i, e) true
#else
#define GATE(i, e) HOLDS(i, e) && (acting || (process && !late && (!must_confirm || confirmed == e)))
#endif

inline T4_start(i, e) {
	FROM(claimed) && GATE(i, e) ->
	sync();
	acting = true;
	TO(in_progress)
}

inline T5_intent(i, e) {
#ifndef NO_INTENT
	intent[i] = e;
#endif
	skip
}

inline T6_act(i, e) {
	assert(MAY_ACT);                                            /* I1 */
	assert(!must_confirm || yes_meant >= e);                    /* I9 */
	assert(!late);                                              /* I8 */
	acts = (acts < 3 -> acts + 1 : 3);
	acted_as[i] = e;
	honest()
}

inline forget(i) { intent[i] = 0; done[i] = 0; done_effect[i] = 0; done_epoch[i] = 0 }

inline T7_done(i, e, what, eff) { done[i] = what; done_effect[i] = eff; done_epoch[i] = e }

/* What a report says of the world, when an earlier holder may have touched it. */
#ifdef FORGETS_BEGUN
#define ALSO(eff) eff
#else
#define ALSO(eff) (begun && eff == no_effect -> unknown_effect : eff)
#endif

#define WORKING (FROM(in_progress) || FROM(held))

inline T8_end(i, e, what, eff) {
	WORKING && HOLDS(i, e) && what != cancelled ->
	sync();
	effect = ALSO(eff);
	if
	:: what == completed -> TO(completed)
	:: what == partial -> TO(partial)
	:: what == failed -> TO(failed)
	fi
}

inline T9_lease() {
	(FROM(claimed) || FROM(needs_confirmation)) ->
	sync();
	attempts++;
	if
	:: attempts < ATTEMPTS -> free(); TO(pending)
	:: else -> effect = ALSO(no_effect); TO(failed)
	fi
}

/* The holder has died at the gate, and knows that nothing was done. */
inline T9_back(i, e) {
	FROM(in_progress) && HOLDS(i, e) && !stop ->
	sync();
	attempts++;
	if
	:: attempts < ATTEMPTS -> free(); TO(pending)
	:: else -> effect = ALSO(no_effect); TO(failed)
	fi
}

inline expire() {
	late && (FROM(pending) || FROM(claimed) || FROM(needs_confirmation)) ->
	effect = ALSO(no_effect);
	TO(expired)
}

inline T10_hold() { FROM(in_progress) -> TO(held) }

inline T10_back() { FROM(held) -> TO(in_progress) }

inline later() { fresh[0] = false; fresh[1] = false; fresh[2] = false; fresh[3] = false }

inline T11_lost() {
	FROM(held) ->
	later();
	sync();
	if
#if defined(IDEMPOTENT) || defined(REOFFERS_STARTED)
	:: !stop -> free(); begun = true; TO(pending)
	:: stop -> effect = unknown_effect; TO(failed)
#else
	:: effect = unknown_effect; TO(failed)
#endif
	fi
}

inline T12_cancel() {
	(FROM(pending) || FROM(claimed) || FROM(needs_confirmation)) && !patient ->
	sync();
	effect = ALSO(no_effect);
	cancel_acked = (effect == no_effect);
	TO(cancelled)
}

inline T13_order() { WORKING && !stop -> stop = true }

inline T13_stopped(i, e, what, eff) {
	WORKING && HOLDS(i, e) && stop && what == cancelled ->
	sync();
	effect = ALSO(eff);
	TO(cancelled)
}

inline T14_late(i, e, what, eff) {
	!HOLDS(i, e) ->
#ifdef LATE_WINS
	effect = eff; TO(what)
#else
	skip /* kept as evidence */
#endif
}

/* ---- the actors ---- */

#define REBOOTS :: atomic { FAULT -> faults++; goto boot }
#define DIES \
	REBOOTS \
	:: atomic { FAULT -> faults++; process = (owner == id -> false : process); goto dead }

#ifdef INTENT_AFTER_ACT
#define ENDS(what, eff) T5_intent(id, e); T7_done(id, e, what, eff); goto outbox
#else
#define ENDS(what, eff) T7_done(id, e, what, eff); goto outbox
#endif

inline reported(i, e, what, eff) {
	if
	:: T8_end(i, e, what, eff)
	:: T13_stopped(i, e, what, eff)
	:: T14_late(i, e, what, eff)
#ifdef OLD_REFUSAL
	:: (old_st != in_progress && old_st != held) || old_owner != i || old_epoch != e -> assert(!HOLDS(i, e)) /* I15 the holder's report is not refused */
#endif
	:: else -> assert(!HOLDS(i, e))                             /* I15 */
	fi
}

proctype Executor(byte id)
{
	byte e = 0;  /* the claim that this process believes to hold */

boot:
	atomic {
		e = 0; fresh[id] = false;
		process = (owner == id -> false : process);
		if
		:: done[id] != 0 -> goto outbox
		:: done[id] == 0 && intent[id] != 0 -> e = intent[id]; goto crashed
		:: done[id] == 0 && intent[id] == 0 && WORKING && owner == id -> /* only the exchange knows of it */
			e = epoch;
			if
			:: T9_back(id, e); e = 0
			:: T7_done(id, e, failed, no_effect); goto outbox
			fi
		:: else
		fi
	}

idle:
end:
	do
	:: atomic { known >= id && FROM(pending) ->
			known = (known == id -> known + 1 : known);
			T2_claim(id);
			if
			:: e = epoch; break
			:: FAULT -> faults++                     /* the answer is lost */
			:: FAULT && nfull(stray) -> faults++; e = epoch; stray!claim, id, e, 0, 0; break
			fi
		}
#ifdef NO_REVISION
	:: atomic { FROM(claimed) && owner != id && old_st == pending -> /* both exchanges grant a claim */
			sync(); owner = id; process = true; acting = false; confirmed = 0; e = epoch; break
		}
#endif
	:: atomic { FROM(claimed) && owner == id && process -> e = epoch; break } /* the same claim again */
	:: atomic { owner == id && process && FAULT -> faults++; goto boot }
	od;

	if
#ifdef NO_GATE
	:: atomic { !must_confirm -> fresh[id] = true; goto intend }
#endif
	:: atomic { !must_confirm -> goto gate }
	:: atomic { must_confirm && st == claimed && HOLDS(id, e) && confirmed != e -> T3_ask(id, e) }
	:: atomic { must_confirm && HOLDS(id, e) && confirmed == e -> goto gate }
	:: atomic { !HOLDS(id, e) -> e = 0; goto idle }
	fi;
	if
	:: atomic { st == claimed && HOLDS(id, e) && confirmed == e -> goto gate }
	:: atomic { !HOLDS(id, e) -> e = 0; goto idle }
	DIES
	fi;

gate:
	if
	:: atomic {
			if
			:: T4_start(id, e)
			:: WORKING && acting && HOLDS(id, e) && REPEAT /* once more */
			fi;
			fresh[id] = true;
			if
			:: goto intend
			:: FAULT -> faults++; goto gate          /* the answer is lost */
			fi
		}
#ifdef NO_REVISION
	:: atomic { !OVER && old_st == claimed && old_owner == id && old_epoch == e -> /* its exchange has not heard of the other claim */
			sync(); owner = id; process = true; acting = true; st = in_progress; fresh[id] = true; goto intend
		}
#endif
#ifdef NO_FENCE
	:: atomic { WORKING -> fresh[id] = true; goto intend }
	:: atomic { !WORKING && !FROM(claimed) -> e = 0; goto idle }
#else
	:: atomic { WORKING && HOLDS(id, e) && !REPEAT && intent[id] != e -> ENDS(failed, no_effect) }
	:: atomic { (!HOLDS(id, e) || !REPEAT) && intent[id] == e -> goto crashed }
	:: atomic { !HOLDS(id, e) && intent[id] != e -> e = 0; goto idle }
#endif
	DIES
	fi;

intend:
	if
	:: atomic { stop && acted_as[id] != e -> ENDS(cancelled, no_effect) }
#ifndef INTENT_AFTER_ACT
	:: atomic { T5_intent(id, e) }
#else
	:: skip
#endif
	DIES
	fi;

	if
#ifndef STALE_PERMISSION
	:: atomic { !fresh[id] -> goto gate }
	:: atomic { fresh[id] -> T6_act(id, e) }
#else
	:: atomic { T6_act(id, e) }
#endif
	DIES
	fi;
#ifdef NO_GATE
	if
	:: atomic { FROM(claimed) && HOLDS(id, e) -> acting = true; TO(in_progress) }
	:: else
	fi;
#endif

	if
	:: atomic { ENDS(completed, some_effect) }
	:: atomic { ENDS(partial, some_effect) }
	:: atomic { ENDS(failed, unknown_effect) }
	:: atomic { stop -> ENDS(cancelled, unknown_effect) }
	DIES
	fi;

crashed: /* an intent, and nobody knows what came of it */
	if
#ifdef IDEMPOTENT
	:: atomic { HOLDS(id, e) && WORKING && !stop -> process = true; goto gate }
#endif
	:: atomic { acted_as[id] == e -> ENDS(completed, some_effect) } /* a probe has seen it */
	:: atomic { ENDS(failed, unknown_effect) }
	fi;

outbox:
	if
	:: atomic {
			reported(id, done_epoch[id], done[id], done_effect[id]);
			if
			:: e = 0; forget(id); goto idle
			:: FAULT -> faults++; goto outbox        /* the answer is lost */
			:: FAULT && nfull(stray) -> faults++;
				stray!report, id, done_epoch[id], done[id], done_effect[id];
				e = 0; forget(id); goto idle
			fi
		}
	DIES
	fi;
dead:
	skip
}

proctype Exchange()
{
end:
	do
#ifndef NO_LEASE
	:: atomic { T9_lease() }
#endif
#ifdef NEEDED_BY
	:: atomic { !late && !OVER -> late = true; later() }
	:: atomic { expire() }
#endif
	:: atomic { FROM(in_progress) && !process -> T10_hold() }
	:: atomic { FROM(in_progress) && process && FAULT -> faults++; T10_hold() } /* alive, and not heard of */
	:: atomic { FROM(held) && process -> T10_back() }
#ifndef NO_LOST_AFTER
	:: atomic { T11_lost() }
#endif
#ifdef ACK_BEFORE_SYNC
	:: atomic { !cut && !OVER -> cut = true; st = old_st; epoch = old_epoch; owner = old_owner; acting = old_acting }
#endif
	od
}

proctype Requester()
{
	byte looked = 0; /* the claim whose question it has read */
	atomic { T1_create() };
end:
	do
#ifdef NO_DEDUP
	:: atomic { FAULT -> faults++; epoch = 0; free(); st = pending }          /* the request again: another task */
#endif
	:: atomic { FROM(needs_confirmation) && looked < epoch -> looked = epoch; yes_meant = epoch }
	:: atomic { T3_yes(looked) }
	:: atomic { T12_cancel() }
#ifdef CANCEL_WITHOUT_CAS
	:: atomic { WORKING -> effect = no_effect; cancel_acked = true; TO(cancelled) }
#endif
	:: atomic { T13_order() }
	od
}

proctype Network()
{
	mtype kind, what, eff; byte i, e;
end:
	do
	:: atomic { stray?kind, i, e, what, eff ->
			if
			:: kind == claim ->
				if
				:: T2_claim(i)
				:: else
				fi
			:: kind == report -> reported(i, e, what, eff)
			fi;
			kind = 0; what = 0; eff = 0; i = 0; e = 0
		}
	od
}

/* When nothing moves any more, the task has ended. */
active proctype Judge()
{
end:
	timeout -> assert(OVER)                                     /* I2 */
}

init {
	atomic {
		byte n;
		if
		:: must_confirm = true
		:: must_confirm = false
		fi;
		if
		:: patient = true
		:: patient = false
		fi;
		for (n : 0 .. EXECUTORS - 1) { run Executor(n) }
		run Exchange(); run Requester(); run Network()
	}
}
