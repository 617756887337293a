# What can be done here. `make` alone lists it.

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS  = -s -w -X main.version=$(VERSION)
GO_FILES = $(shell find . -name "*.go" -not -path "./tools/*")
FUZZTIME ?= 10s

# Versions come from git describe above, not from the toolchain, so that a copy
# without .git builds as well.
export GOFLAGS = -buildvcs=false

.PHONY: help
help: ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' Makefile

.PHONY: test
test: deps lint unit ## check everything, with the race detector and real servers

.PHONY: fast
fast: ## the unit tests alone, under a minute
	go test ./...

.PHONY: deps
deps:
	@scripts/need.sh gcc:gcc

.PHONY: lint
lint: bin/gofumpt bin/staticcheck
	@echo "== gofumpt, vet, staticcheck"
	@test -z "$$(bin/gofumpt -l $(GO_FILES) | tee /dev/stderr)" || { echo "these files are not formatted; run make fmt"; exit 1; }
	go vet ./...
	bin/staticcheck ./...

.PHONY: fmt
fmt: bin/gofumpt ## format the Go files
	bin/gofumpt -w $(GO_FILES)

.PHONY: unit
unit:
	@echo "== unit tests with the race detector; the first run compiles for some minutes"
	go test -race -timeout 10m ./...

bin/gofumpt bin/staticcheck bin/deadcode: tools/go.mod
	@echo "== building $@ (once)"
	@mkdir -p bin
	GOBIN=$(CURDIR)/bin go -C tools install $$(awk '$$NF ~ "/$(@F)$$" { print $$NF }' tools/go.mod)
	@touch $@

.PHONY: clean
clean: ## remove what was built
	rm -rf bin dist
