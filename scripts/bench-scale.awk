# bench-scale.awk shows the results of two trees beside the goals.

# The name of a benchmark without the number of processors, and its results by unit.
FNR == 1 { tree++ }
/^Benchmark/ {
	name = $1
	sub(/^Benchmark/, "", name)
	sub(/-[0-9]+$/, "", name)
	gsub(/(on|open|writers|state|threads|devices|ended)=/, "", name)
	for (i = 3; i < NF; i += 2) found[tree, name, $(i + 1)] = $i
}
/^embedded +request to relay/ { v = $8; p99 = v; sub(/[a-zµ]+$/, "", v); found[tree, "mqtt", "ms"] = p99 ~ /µs$/ ? v / 1000 : p99 ~ /[0-9]s$/ ? v * 1000 : v }

function value(tree, name, unit) { return found[tree, name, unit] }
function show(v) { return v == "" ? "-" : v >= 100 ? sprintf("%.0f", v) : v >= 1 ? sprintf("%.2f", v) : sprintf("%.4f", v) }

# row prints one line; scale turns the unit of the benchmark into that of the goal.
function row(what, name, unit, scale, goal, shown,   old, new) {
	old = value(1, name, unit); new = value(2, name, unit)
	printf "%-62s %11s %11s  %s\n", what, show(old == "" ? "" : old * scale), show(new == "" ? "" : new * scale), goal " " shown
}
# per prints memory for each of n things, from what is left of two starts.
function per(what, name, n, goal,   t, v) {
	for (t = 1; t <= 2; t++) {
		v[t] = value(t, name "/" n, "settled-MB") == "" ? "" : (value(t, name "/" n, "settled-MB") - value(t, name "/0", "settled-MB")) * 1048576 / n
	}
	printf "%-62s %11s %11s  %s\n", what, show(v[1]), show(v[2]), goal " B"
}
# each is a result for each of n things, in bytes from MB.
function each(what, name, unit, without, n, goal,   t, v) {
	for (t = 1; t <= 2; t++) v[t] = value(t, name, unit) == "" ? "" : (value(t, name, unit) - value(t, name, without)) * 1048576 / n
	printf "%-62s %11s %11s  %s\n", what, show(v[1]), show(v[2]), goal " B"
}
# started is the time of a start: to open the store, and to read its feed.
function started(what, name, goal,   t, v) {
	for (t = 1; t <= 2; t++) v[t] = value(t, name, "open-s") == "" ? "" : value(t, name, "open-s") + value(t, name, "feed-s")
	printf "%-62s %11s %11s  %s\n", what, show(v[1]), show(v[2]), goal
}
END {
	open = large ? "100,000" : "10,000"; stored = large ? "1,000,000" : "10,000"; wait = large ? "10,000" : "100"; n = large ? 100000 : 10000; ended = large ? 1000000 : 10000
	printf "\n%-62s %11s %11s  %s\n", "operation", "before", "now", "goal"
	row("heartbeat, " open " open threads", "ScaleHeartbeat", "ns/op", 1e-3, 20, "us, at 100,000")
	row("request, claim, start, end: 1 executor", "ScaleThread/1", "ns/op", 1e-6, "", "ms")
	row("... 1,000 executors of the capability, all following", "ScaleThread/1000", "ns/op", 1e-6, 1.5, "ms, 1.5 times that of one")
	row("request with a location, 1,000 executors", "ScaleLocation", "ns/op", 1e-3, 100, "us for the candidates alone")
	row("new executor, " wait " pending x 1,000 executors", "ScaleNewExecutor", "ns/op", 1e-6, 5, "ms, at 10,000")
	row("1,000 executors register after a restart, " (large ? "1,000" : "100") " pending", "ScaleRestart", "s/1000", 1, 5, "s, at 1,000")
	row("page of a list, " stored " stored, all", "ScaleList/all", "ns/op", 1e-6, 5, "ms, at 1,000,000")
	row("... of a requester without threads", "ScaleList/none", "ns/op", 1e-6, 5, "ms, at 1,000,000")
	row("message to an unknown ref, " open " open threads", "ScaleUnknownRef", "ns/op", 1e-3, 10, "us, at 100,000")
	per("memory of an ended thread, files", "Open/finished", n, 100)
	row("... with the index for lists, " stored " ended", "Ended/" ended, "store+index-B/each", 1, 100, "B")
	row("memory of an open thread", "ScaleMemory/open", "B/each", 1, 1500, "B")
	row("memory of an idle executor, without its connection", "ScaleMemory/follower", "B/each", 1, 8192, "B with it")
	each("memory of an idle follower over HTTP, with its connection", "IdleReaders", "settled-MB", "empty-MB", 10000, 8192)
	each("... before the collector has returned free memory", "IdleReaders", "rss-MB", "empty-MB", 10000, 8192)
	each("memory of an idle long poll over HTTP, with its connection", "IdlePolls", "settled-MB", "empty-MB", 10000, 8192)
	each("... the second, after an event for all at the same time", "IdlePolls", "again-MB", "empty-MB", 10000, 8192)
	row("start with " (large ? "100,000" : "10,000") " pending", "Open/pending/" n, "ns/op", 1e-9, 1.0, "s, at 100,000")
	row("start with " (large ? "100,000" : "10,000") " ended", "Open/finished/" n, "ns/op", 1e-9, 3, "s, at 1,000,000")
	started("... with " stored " ended, without folders to read", "Ended/" ended, "3 s, at 1,000,000")
	row("longest step during a compaction, " stored " ended", "Compaction/" ended, "longest-step-ms", 1, 50, "ms, at 1,000,000")
	row("... longest step without one", "Compaction/" ended, "longest-without-ms", 1, "", "ms")
	row("understanding, 1,000 devices", "Understand/1000", "ns/op", 1e-6, 0.3, "ms")
	row("understanding, 10,000 devices", "Understand/10000", "ns/op", 1e-6, 2, "ms")
	for (w = 16; w <= 512; w *= w == 16 ? 4 : 8) row("durable claims a second, " w " writers", "Claim/0/" w "/disk", "ops/s", 1, w == 512 ? "" : ">=", w == 512 ? "more than 64 writers" : "before")
	row("MQTT request to act, p99", "mqtt", "ms", 1, 5, "ms")
}
