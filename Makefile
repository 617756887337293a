# What can be done here. `make` alone lists it.

# The version is that of the newest release in CHANGELOG.md.
VERSION ?= $(shell sed -n 's/^.. \[\([0-9][^]]*\)\].*/\1/p' CHANGELOG.md | sed q)
LDFLAGS  = -s -w -X github.com/messkit/messkit/internal/cli/output.Version=$(VERSION)
PLAIN_CODE = agent capabilities cmd drivers exchange internal mess
GO_FILES = $(shell find . -name "*.go" -not -path "./tools/*")
FUZZTIME ?= 10s
N ?= 200
SEED ?= 1
HOURS ?= 96

# The toolchain does not ask git for a version, so that a copy without .git builds
# as well. HTTP/2 stays out of net/http (decision 01), in the tests as in the
# binaries. Without C, and with the same paths everywhere, vet, the tests and the
# binaries share one compilation; only the race detector needs C.
export GOFLAGS = -buildvcs=false -trimpath -tags=nethttpomithttp2
export CGO_ENABLED = 0

.PHONY: help
help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' Makefile

.PHONY: demo
demo: dist/messkit ## build it, start a whole system on this machine, and ask it four things
	@scripts/demo.sh dist/messkit

.PHONY: test
test: deps lint ## check everything, with the race detector and real servers
	@$(MAKE) --no-print-directory -j2 unit power-cuts
	@$(MAKE) --no-print-directory program
	@$(MAKE) --no-print-directory the-rest

# Power cuts wait for disks, and unit tests for processors. A third part beside them makes browsers and
# devices miss the limits of their tests.
.PHONY: power-cuts the-rest
power-cuts:
	@echo "== power cuts, beside the unit tests"
	@scripts/powercut.sh 40
	@scripts/powercut.sh 60 acts
the-rest:
	@echo "== long calculations, a simulation, emulated machines and ARM; some eight minutes"
	go test -vet=off $(HEAVY) $(SINGLE) $(COMPILES)
	@$(MAKE) --no-print-directory -j2 trouble hil-some
	@$(MAKE) --no-print-directory -j1 binaries sizes

# These start programs, wait for timeouts of devices, or compile programs.
SLOW := ./cmd/messkit ./docs/gobot ./drivers/homeassistant ./drivers/httpdevice ./drivers/mqttdevice ./exchange/channel/agentmail ./exchange/channel/mqtt ./exchange/store/files ./firmware-examples ./internal/mutants ./systemd

.PHONY: fast
fast: ## the unit tests of all packages but the slow ones, in about a minute
	go test -vet=off -short -p 4 $$(go list ./... | grep -vxF $(SLOW:./%=-e github.com/messkit/messkit/%))

.PHONY: deps
deps:
	@scripts/need.sh gcc:gcc motion:motion ustreamer:ustreamer qemu-arm-static:qemu-user-static strace:strace spin:spin djpeg:libjpeg-turbo-progs chromium:chromium \
		qemu-system-x86_64:qemu-system-x86 qemu-system-aarch64:qemu-system-arm node:nodejs npm:npm \
		mosquitto:mosquitto mosquitto_pub:mosquitto-clients fish:fish zsh:zsh sixel2png:libsixel-bin man:man-db
	@scripts/need.sh chromium-headless-shell:chromium-headless-shell || echo "the tests of pages use the whole Chromium, which takes twice as long"
	@scripts/need.sh promtool:prometheus || echo "promtool does not check the metrics, rules and queries"
	@scripts/need.sh systemd-nspawn:systemd-container || echo "the units are not started in their sandbox"
	@scripts/npm.sh cmd/messkit/testdata/mcpclient
	@scripts/npm.sh cmd/messkit/testdata/axe
	@scripts/npm.sh drivers/onvif/testdata/client
	@scripts/npm.sh drivers/roombawifi/testdata/client
	@$(MAKE) --no-print-directory bin/go2rtc bin/nats-server

.PHONY: lint
lint: bin/gofumpt bin/staticcheck bin/revive
	@echo "== gofumpt, vet, staticcheck, revive"
	@test -z "$$(bin/gofumpt -l $(GO_FILES) | tee /dev/stderr)" || { echo "these files are not formatted; run make fmt"; exit 1; }
	go vet ./...
	bin/staticcheck ./...
	bin/revive -config scripts/revive.toml ./...
	@echo "== plain English"
	@scripts/need.sh python3:python3
	@python3 scripts/plain.py --limit docs.headless=1 --limit docs.passive=18 --limit docs.long=4 \
		--limit decisions.headless=1 --limit decisions.passive=18 --limit decisions.long=4 \
		--limit changelog.headless=1 --limit changelog.passive=18 --limit changelog.long=4 docs $(wildcard *.md)
	@python3 scripts/plain.py --limit comments.headless=1 --limit comments.passive=18 --limit comments.long=2 \
		--limit messages.headless=0.5 --limit messages.passive=9 $(wildcard *.go) $(PLAIN_CODE)

.PHONY: fmt
fmt: bin/gofumpt ## format the Go files
	bin/gofumpt -w $(GO_FILES)

# These calculate for long, and some measure memory. The race detector makes them ten times slower
# and uses memory itself, so it sees their quick form alone.
HEAVY := ./agent/imaging ./exchange/index ./exchange/store/files ./internal/test/simulation

# The race detector finds nothing in these: they start no goroutine, and neither do their tests.
SINGLE := ./capabilities/catalog ./capabilities/interpret ./exchange/channel/agentmail/format ./exchange/channel/mesh/wire ./exchange/transition ./internal/cleantext ./internal/order ./internal/picture ./internal/picture/dctjpeg ./internal/strictyaml ./internal/unit ./mess ./mess/messeaf ./mess/receipt ./mess/topic

# These compile programs or read the source, in which the detector finds nothing.
COMPILES := . ./docs/gobot ./internal/mutants

.PHONY: unit
unit:
	@echo "== unit tests with the race detector; the first run compiles for some minutes"
	CGO_ENABLED=1 go test -race -vet=off -short $(HEAVY)
	CGO_ENABLED=1 go test -race -vet=off -timeout 35m $$(go list ./... | grep -vxF -e github.com/messkit/messkit $(patsubst ./%,-e github.com/messkit/messkit/%,$(HEAVY) $(SINGLE) $(filter-out .,$(COMPILES)) ./cmd/messkit))
	CGO_ENABLED=1 go test -race -vet=off -timeout 35m ./cmd/messkit -run '$(ANY_RACED)'

# These tests of cmd/messkit run several programs at once, so the race detector watches whole programs.
# A program takes ten times as long to start with it, so make program runs the others without it.
RACED := TestRig TestRacingExecutorsRunOnce TestKillUnderLoadLosesNothing TestKillDuringActIsReportedTruly TestTwoExecutorsAtReferenceServerSwitchOnce

empty :=
space := $(empty) $(empty)
ANY_RACED := ^($(subst $(space),|,$(RACED)))$$

.PHONY: program
program: ## the other tests of cmd/messkit, with browsers; RACE=-race runs those without a browser with the detector
	@echo "== tests of the whole program, those with a browser three at a time"
	$(if $(RACE),CGO_ENABLED=1) go test $(RACE) -vet=off -timeout 60m -parallel 3 ./cmd/messkit -skip '$(ANY_RACED)'

.PHONY: page
page: bin/esbuild ## join and pack the files of the console, which the program contains; run it after a change of exchange/channel/console/page
	@MESSKIT_PAGE=write go test ./exchange/channel/console -run '^TestPageZipHasFolder$$' -count=1

.PHONY: screenshots
screenshots: ## write the pictures of the console in docs/pictures, with Chromium and the simulated home
	@mkdir -p docs/pictures
	MESSKIT_SCREENSHOTS=$(CURDIR)/docs/pictures go test ./cmd/messkit -run '^TestScreenshots$$' -count=1

.PHONY: new-driver
new-driver: ## write drivers/NAME with its test and page, and add it to drivers/all
	@scripts/new-driver.sh "$(NAME)"

.PHONY: fuzz
fuzz: ## run every fuzz test for FUZZTIME (10s) each
	@scripts/fuzz.sh $(FUZZTIME)

.PHONY: agentmail
agentmail: ## give and do a task by way of the MCP Agent Mail server at SERVER, whose bearer token is in TOKEN
	@test -n "$(SERVER)" || { echo "skipped: no mail server is named; make agentmail SERVER=http://127.0.0.1:8765/mcp/ TOKEN=..."; exit 0; }; \
	MESSKIT_AGENTMAIL_SERVER="$(SERVER)" MESSKIT_AGENTMAIL_TOKEN="$(TOKEN)" go test ./exchange/channel/agentmail -run TestTaskThroughServer -count=1 -v

.PHONY: powercut
powercut: ## cut the power of a simulated disk N (200) times; needs root and loop devices
	@scripts/powercut.sh $(N)

.PHONY: prove
prove: ## all proofs in about an hour, and one table: docs/explanation/proofs.md says what each shows
	@scripts/prove.sh

.PHONY: powercut-exec
powercut-exec: ## cut the power N (200) times while devices act, which remember what was done to them; needs root
	@scripts/powercut.sh $(N) acts

.PHONY: races
races: ## have three executors, killed and frozen at any moment, race for N (200) requests
	MESSKIT_RACES=$(N) go test ./cmd/messkit -run TestRacingExecutorsRunOnce -count=1 -v -timeout 3h

.PHONY: rig
rig: ## send N (200) requests while processes die and freeze, and links stall, go one way alone and break
	@scripts/need.sh mosquitto:mosquitto
	MESSKIT_RIG=$(N) go test ./cmd/messkit -run 'TestRig$$' -count=1 -v -timeout 3h

.PHONY: cluster-test
cluster-test: bin/nats-server ## have three nodes claim threads in three NATS servers during N (200) faults, and check each history; cut the power of servers, fill a disk and replace a server; then N requests to two exchanges there while all parts die, and the valves count
	MESSKIT_CLUSTER=$(N) go test ./exchange/store/jetstream -run 'TestClusterUnderFaults$$|TestPowerCutsOfServers$$|TestFullDiskOfServer$$|TestServerIsReplacedWhileItIsCutOff$$|TestNodeLeavesServerThatIsCutOff$$' -count=1 -v -timeout 3h
	MESSKIT_CLUSTER_ACTS=$(N) go test ./cmd/messkit -run 'TestClusterActsOnce(OverNATS)?$$' -count=1 -v -timeout 3h

.PHONY: faults
faults: ## have system calls of an exchange fail, for N (200) seconds on a new and on a used data folder
	MESSKIT_FAULTS=$(N) go test ./cmd/messkit -run TestFailedCallsLoseNoData -count=1 -v -timeout 1h

.PHONY: kills-exec
kills-exec: ## kill an exchange and its executors N (200) times while devices act
	MESSKIT_KILLS_EXEC=$(N) go test ./cmd/messkit -run TestKillDuringActIsReportedTruly -count=1 -v -timeout 3h

.PHONY: mutants
mutants: ## plant some sixty faults, one at a time, and see that a test fails for each
	MESSKIT_MUTANTS=all go test ./internal/mutants -count=1 -parallel 2 -v -timeout 1h

.PHONY: model
model: ## check the model of a physical action with spin, and that no piece of it can be left out
	@scripts/need.sh spin:spin gcc:gcc
	@scripts/model.sh

.PHONY: sim
sim: ## simulate N (200) scenarios with HOURS (96) of faults each, from seed SEED (1) on, and compare what the devices did with the answers
	MESSKIT_SIMULATE=$(N) MESSKIT_SEED=$(SEED) MESSKIT_SIMULATE_HOURS=$(HOURS) go test ./internal/test/simulation -run TestScenarios -v -timeout 3h

.PHONY: trouble
trouble:
	@echo "== a model of a physical action, and five weeks of trouble, simulated"
	@scripts/model.sh
	@$(MAKE) --no-print-directory sim N=8

.PHONY: kills
kills: ## kill a loaded exchange N (200) times, and check what it has acknowledged
	MESSKIT_KILLS=$(N) go test ./cmd/messkit -run TestKillUnderLoadLosesNothing -v -timeout 1h

.PHONY: hil
hil: ## the drivers on real kernel interfaces: emulated machines, a Raspberry Pi among them; some minutes
	@scripts/hil.sh x86_64 raspi3b arm64

.PHONY: hil-some
hil-some: # what CI runs of it; there nothing may be missing
	@$(if $(CI),HIL_REQUIRE=1) scripts/hil.sh x86_64 raspi3b

.PHONY: flips
flips: ## flip every bit of a signed report and of its picture, and check that it is noticed
	MESSKIT_FLIPS=all go test ./mess/receipt ./cmd/messkit -run Flipped -v

.PHONY: guard
guard: ## kill or freeze the agent or its guard N (200) times with a lamp on, and measure when it goes off
	MESSKIT_GUARD=$(N) go test ./cmd/messkit -run TestLampGoesOffAfterFault -v -timeout 2h

.PHONY: stop
stop: ## measure how long a stop or cancel takes to safe outputs under load, N (200) times each
	MESSKIT_STOPS=$(N) go test ./agent -run TestStopLatency -count=1 -v -timeout 1h

.PHONY: bench-http
bench-http: ## measure the exchange over HTTP, some minutes
	@scripts/bench-http.sh

.PHONY: bench-store
bench-store: ## measure the exchange's store on this disk, some minutes; MESSKIT_BENCH_LARGE=1 adds 100,000 threads
	@scripts/bench-store.sh

.PHONY: bench-scale
bench-scale: ## measure what grows with the size of an exchange, beside an earlier commit and the goals, some minutes; LARGE=1 has a million threads
	@scripts/bench-scale.sh

.PHONY: soak
soak: ## create, end and archive THREADS (1,000,000) threads at full speed, and check that the memory stays that of the first 10,000; dist/ gets profiles of the heap
	@mkdir -p dist
	@MESSKIT_SOAK=$(or $(THREADS),1000000) MESSKIT_SOAK_PROFILES=$(CURDIR)/dist go test ./exchange/store/files -run '^TestSoak$$' -count=1 -timeout 0 -v

.PHONY: bench-cluster
bench-cluster: bin/nats-server ## measure claims in NATS with one and three servers and both sync settings, beside the client library alone and beside files; three minutes
	MESSKIT_BENCH_CLUSTER=1 go test ./exchange/store/jetstream -run '^$$' -bench BenchmarkClaims -benchtime 3s -timeout 1h

.PHONY: bench-join
bench-join: bin/nats-server ## measure how long a new exchange on NATS takes until it serves, with and without a snapshot, with N (100,000) pending and then ENDED (200,000) ended threads
	MESSKIT_BENCH_JOIN=$(or $(N),100000) MESSKIT_BENCH_JOIN_ENDED=$(or $(ENDED),200000) go test ./exchange/store/jetstream -run '^$$' -bench BenchmarkJoin -benchtime 3x -timeout 1h

.PHONY: bench-fleet
bench-fleet: dist/messkit bin/nats-server ## measure 100, 1,000 and 10,000 executors at one exchange with its store in files, and at three exchanges on three NATS servers; 15 minutes
	@scripts/need.sh jq:jq
	@scripts/bench-fleet.sh dist/messkit

.PHONY: bench-intents
bench-intents: ## measure what is understood of 591 sentences about a home, and what of 4,936 others would be acted on
	@MESSKIT_INTENTS=$(or $(SHOW),table) go test ./cmd/messkit -run '^TestIntents$$' -count=1 -v | grep -v '^=== \|^--- PASS\|^PASS\|^ok'

.PHONY: bench-page
bench-page: ## measure the console in a browser: first load, first use, a change to its pixels, and what open pages cost; four minutes, it fails if a figure misses its goal
	@MESSKIT_BENCH_PAGE=1 go test ./cmd/messkit -run '^TestBenchPage$$' -count=1 -v -timeout 20m

.PHONY: bench-picture
bench-picture: dist/messkit ## measure how pictures are made to fit, beside jpegoptim, ImageMagick and sharp, some minutes; PAGE=docs/explanation/pictures.md writes the tables there
	@scripts/bench-picture.sh dist/messkit $(PAGE)

.PHONY: pulls
pulls: ## pull the network of an executor, of the exchange and of both N (200) times while tasks run; the devices count
	@scripts/need.sh mosquitto:mosquitto
	@MESSKIT_PULLS=$(N) go test ./exchange/channel/mqtt -run TestPulls -count=1 -v -timeout 5h

.PHONY: bench-mqtt
bench-mqtt: ## measure MQTT with N (200) requests: time to the relay and to the response, requests a second, a thousand executors
	@scripts/need.sh mosquitto:mosquitto
	@MESSKIT_BENCH_MQTT=$(N) MESSKIT_BENCH_MQTT_EXECUTORS=1000 go test ./exchange/channel/mqtt -run TestBench -count=1 -v -timeout 1h

# On 32-bit ARM the compiler inlines only what calculates: pictures, YAML, cryptography and the
# runtime. The binary is 2.3 MiB smaller. A request to an act over MQTT took 2 % longer when the language
# was still inlined; reading a sentence takes a tenth of a millisecond with it and without it.
SMALL = $(foreach p,agent capabilities drivers exchange internal mess/messeaf,-gcflags=github.com/messkit/messkit/$(p)/...=-l) \
	$(foreach p,agent/imaging internal/picture internal/strictyaml,-gcflags=github.com/messkit/messkit/$(p)/...=) \
	$(foreach p,archive compress crypto/tls crypto/x509 encoding/asn1 encoding/gob encoding/json encoding/xml fmt html log math/big mime net os regexp/syntax reflect text/template time vendor \
	github.com/SherClockHolmes github.com/eclipse github.com/fsnotify github.com/golang-jwt github.com/google github.com/gorilla github.com/mochi-mqtt github.com/modelcontextprotocol \
	github.com/gofrs github.com/hashicorp github.com/klauspost github.com/nats-io github.com/segmentio github.com/robfig github.com/rs github.com/spf13 github.com/warthog618 \
	github.com/yosida95 gobot.io golang.org/x/crypto golang.org/x/net golang.org/x/oauth2 golang.org/x/text gopkg.in periph.io rsc.io,-gcflags=$(p)/...=-l)

# The linker aligns the segments of a 32-bit ARM program to 64 KiB, and a kernel that runs it has pages
# of 4 KiB. With -R 4096 the file has no gaps, which take up to 190 KiB.

.PHONY: build
build: dist/messkit-linux-amd64 dist/messkit-linux-arm64 dist/messkit-linux-armv7 dist/messkit-linux-armv6 ## static binaries for amd64, arm64, armv7 and armv6, in dist/

# Go knows itself what has changed.
.PHONY: dist/messkit dist/messkit-linux-amd64 dist/messkit-linux-arm64 dist/messkit-linux-armv7 dist/messkit-linux-armv6
dist/messkit:
	@echo "== building $@; the first time takes a minute"
	@go build -ldflags "$(LDFLAGS)" -o $@ ./cmd/messkit
dist/messkit-linux-amd64 dist/messkit-linux-arm64:
	GOOS=linux GOARCH=$(subst dist/messkit-linux-,,$@) go build -ldflags "$(LDFLAGS)" -o $@ ./cmd/messkit
dist/messkit-linux-armv7 dist/messkit-linux-armv6:
	GOOS=linux GOARCH=arm GOARM=$(subst dist/messkit-linux-armv,,$@) go build $(SMALL) -ldflags "$(LDFLAGS) -R 4096" -o $@ ./cmd/messkit

.PHONY: dist/messkit-darwin-arm64 dist/messkit-darwin-amd64
dist/messkit-darwin-arm64 dist/messkit-darwin-amd64: ## the same for a Mac: to ask, watch and answer from there, and the simulated home
	GOOS=darwin GOARCH=$(subst dist/messkit-darwin-,,$@) go build -ldflags "$(LDFLAGS)" -o $@ ./cmd/messkit

bin/go2rtc: scripts/go2rtc.sh
	@echo "== building $@ (once)"
	@scripts/go2rtc.sh $@

bin/nats-server: scripts/nats-server.sh
	@echo "== building $@ (once)"
	@scripts/nats-server.sh $@

.PHONY: man
man: ## manual pages of all commands, in dist/man1; in /usr/local/share/man/man1 man finds them
	@rm -rf dist/man1
	@MESSKIT_MAN=$(CURDIR)/dist/man1 MESSKIT_VERSION=$(VERSION) go test ./cmd/messkit -run '^TestManual$$' -count=1 >/dev/null
	@echo "$$(ls dist/man1 | wc -l) pages in dist/man1; man -l dist/man1/messkit.1 shows the first"

.PHONY: binaries
binaries: dist/messkit-linux-amd64 dist/messkit-linux-arm64 dist/messkit-linux-armv6 dist/messkit-darwin-arm64
	@echo "== the armv6 binary runs the demo under emulation"
	scripts/armv6.sh dist/messkit-linux-armv6
	@echo "== pictures come out the same on ARM, byte by byte"
	@scripts/same-pictures.sh dist

.PHONY: sizes
sizes: dist/messkit-linux-amd64 dist/messkit-linux-armv6 ## size of the binaries, and memory when idle, with their limits
	@scripts/sizes.sh

bin/gofumpt bin/staticcheck bin/revive bin/deadcode bin/esbuild: tools/go.mod
	@echo "== building $@ (once)"
	@mkdir -p bin
	GOBIN=$(CURDIR)/bin go -C tools install $$(awk '$$NF ~ "/$(@F)$$" { print $$NF }' tools/go.mod)
	@touch $@

.PHONY: clean
clean: ## remove what was built
	rm -rf bin dist
