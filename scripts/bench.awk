# bench.awk reads what go test -bench prints, for scripts that show it: figures
# by name and unit, and whether they are as they are meant to be.
function figure(name, unit) { return found[name, unit] }
function show(v, digits) { return v == "" ? "-" : sprintf("%." digits "f", v) }
function ratio(a, b) { return a == "" || b == "" || b == 0 ? "" : a / b }
function aim(what, value, digits, bound, most,   met) {
	met = value == "" ? "-" : (most ? value <= bound : value >= bound) ? "met" : "MISSED"
	aims[++aimed] = sprintf("%-56s %s %6s %10s  %s", what, most ? "<=" : ">=", bound, show(value, digits), met)
}
function showAims(   i) {
	printf "\n%-56s %9s %10s\n", "aim", "wanted", "found"
	for (i = 1; i <= aimed; i++) print aims[i]
}
# In a line of go test: the name, how often, and then pairs of figure and unit.
/^Benchmark/ {
	name = substr($1, 10)
	sub(/-[0-9]+$/, "", name)
	gsub(/(on|open|writers|clients|state|store|threads|rate)=/, "", name)
	order[++rows] = name
	for (i = 3; i < NF; i += 2) found[name, $(i + 1)] = $i
}
