# Everything a change needs, by name. `make` alone lists the targets.
SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS   += --no-print-directory

GO          ?= go
BIN         := .bin
TIMEOUT     ?= 20m
KILLS       ?= 200
DRILL_TIMEOUT ?= 60m
FUZZTIME    ?= 10s
COUNT       ?= 3
GENERATED   := history/sqlite/internal/db

# Packages in which goroutines, processes or files meet.
RACE_PKGS   ?= ./spill ./workspace ./history/sqlite ./execute ./round ./agent ./shell

# Modules of their own stand beside the root module; each is tidied and verified.
MODULES      = $(patsubst %/,%,$(dir $(wildcard go.mod tools/go.mod examples/go.mod examples/*/go.mod bench/go.mod peers/go.mod)))

# The pinned tools are built once for each state of tools/go.sum. The stamp is
# named after its contents, so neither a checkout nor a clock rebuilds them.
TOOLS       := $(BIN)/golangci-lint $(BIN)/sqlc $(BIN)/gofumpt
STAMP       := $(BIN)/tools-$(firstword $(shell cat tools/go.mod tools/go.sum | cksum))

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 14

.PHONY: test
test: ## all tests: race detector on (child processes end at once), order shuffled
	GORACE=atexit_sleep_ms=0 $(GO) test -race -shuffle=on -timeout $(TIMEOUT) ./...

.PHONY: race stress
race: ## the packages that run things at once, COUNT=3 times over
	$(GO) test -race -shuffle=on -count=$(COUNT) -timeout $(TIMEOUT) $(RACE_PKGS)

stress: race ## the same as race

.PHONY: limits
limits: ## what the race detector's own memory would hide: limits of memory and of what is read
	$(GO) test -count=1 -timeout $(TIMEOUT) -run 'Gigabyte|Memory|Cost' ./round ./spill ./workspace ./internal/document ./shell

.PHONY: jobs
jobs: ## a call that outlives its request over MCP, with the real time-outs
	$(GO) test -count=1 -timeout $(TIMEOUT) -run '^TestALongCallBecomesAJob$$' ./mcp/server -full

.PHONY: scripts
scripts: ## what the race detector's own memory would hide of scripts: each limit, held to its time
	WEIR_STRICT=1 $(GO) test -count=1 -timeout $(TIMEOUT) -run 'LimitsHold|Memory|Embedder' ./scripting

.PHONY: lint
lint: $(BIN)/golangci-lint $(BIN)/gofumpt ## golangci-lint and gofumpt, nothing rewritten
	$(BIN)/golangci-lint run ./...
	@$(MAKE) format-check

.PHONY: format format-check
format: $(BIN)/gofumpt ## rewrite the sources with gofumpt
	$(BIN)/gofumpt -w .

format-check: $(BIN)/gofumpt ## name the files that gofumpt would change
	@bad=$$($(BIN)/gofumpt -l .); \
	if [ -n "$$bad" ]; then printf 'not formatted, run make format:\n%s\n' "$$bad"; exit 1; fi

.PHONY: generate
generate: $(BIN)/sqlc ## write the generated code again
	$(BIN)/sqlc generate
	$(GO) generate ./...

.PHONY: generated
generated: $(BIN)/sqlc ## prove that the generated code is current
	@$(BIN)/sqlc diff || { echo 'generated code is not current: run make generate and commit what it writes'; exit 1; }
	@sum() { find . -name '*.go' -not -path './$(BIN)/*' -print0 | sort -z \
		| xargs -0 grep -lZE '^// Code generated .* DO NOT EDIT' | xargs -0 cksum; }; \
	before=$$(sum); $(MAKE) generate; after=$$(sum); \
	if [ "$$before" != "$$after" ]; then \
		diff <(echo "$$before") <(echo "$$after") || true; \
		echo 'generated code was not current; it is now: look at git diff and commit it'; exit 1; \
	fi

.PHONY: tidy tidy-check
tidy: ## go mod tidy in every module
	@for m in $(MODULES); do echo "tidy $$m"; (cd $$m && $(GO) mod tidy); done

tidy-check: ## prove that every go.mod and go.sum is tidy and what was downloaded is what was pinned
	@for m in $(MODULES); do echo "tidy -diff $$m"; (cd $$m && $(GO) mod tidy -diff && $(GO) mod verify); done

.PHONY: verify
verify: tidy-check generated ## vet, modules, generated code and the house test
	$(GO) vet ./...
	$(GO) test -count=1 -run '^TestHouse' .

.PHONY: fuzz
fuzz: ## every fuzz function in the tree, FUZZTIME=10s each
	@found=$$(grep -rnE --include='*_test.go' '^func Fuzz[A-Z0-9_][A-Za-z0-9_]*\(' . || true); \
	if [ -z "$$found" ]; then echo 'no fuzz function found: is this the root of the module?'; exit 1; fi; \
	total=$$(echo "$$found" | wc -l); n=0; \
	while IFS=: read -r file _ line; do \
		name=$${line#func }; name=$${name%%(*}; n=$$((n+1)); \
		echo "fuzz $$n/$$total $$(dirname $$file) $$name"; \
		(cd "$$(dirname $$file)" && $(GO) test . -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME)); \
	done <<< "$$found"

.PHONY: bench
bench: ## every benchmark, here and in bench/
	$(GO) test -run '^$$' -bench . -benchmem -timeout 60m ./...
	@if [ -f bench/go.mod ]; then cd bench && $(GO) test -run '^$$' -bench . -benchmem -timeout 60m ./...; fi

.PHONY: bench-tokens
bench-tokens: ## what a model learns for its tokens, over 220 results; writes docs/token-economy.md
	$(GO) test ./internal/economy -run '^TestEconomy$$' -count=1 -timeout $(TIMEOUT) -full -write $(CURDIR)/docs/token-economy.md
	@cat docs/token-economy.md

.PHONY: drill
drill: ## kill the process KILLS=200 times in the middle of its work and resume it each time
	@out=$$(mktemp); trap 'rm -f "$$out"' EXIT; \
	$(GO) test ./internal/drill -run TestDrill -count=1 -v -timeout $(DRILL_TIMEOUT) -kills=$(KILLS) | tee "$$out"; \
	if ! grep -qE '(^|[^0-9])$(KILLS) kills, $(KILLS) resumed, 0 lost, 0 repeated' "$$out"; then \
		echo 'the drill did not report "$(KILLS) kills, $(KILLS) resumed, 0 lost, 0 repeated"'; exit 1; \
	fi

.PHONY: many
many: ## many processes on one store at once, and a process that is stopped for long: the full size
	$(GO) test ./internal/drill -run '^(TestMany|TestFence)' -count=1 -v -timeout $(DRILL_TIMEOUT) -full

.PHONY: peers peers-install conformance-client
PEERS       := .peers
PEERS_STAMP  = $(PEERS)/installed-$(firstword $(shell cat tools/peers/package.json tools/peers/package-lock.json | cksum))

peers: peers-install ## install the third-party MCP peers and run the tests that need them
	WEIR_PEERS="$$PWD/$(PEERS)" $(GO) test -count=1 -timeout $(TIMEOUT) -run Peer ./mcp/...
	$(GO) test -count=1 -timeout $(TIMEOUT) -run '^TestReference$$' ./tokens

peers-install: $(PEERS_STAMP)

$(PEERS_STAMP):
	@mkdir -p $(PEERS) && rm -f $(PEERS)/installed-* && cp tools/peers/package.json tools/peers/package-lock.json $(PEERS)/
	cd $(PEERS) && npm install --ignore-scripts --no-audit --no-fund --omit-lockfile-registry-resolved --loglevel=error
	@touch $@

conformance-client: peers-install ## the client scenarios of the MCP conformance suite
	GO="$(GO)" scripts/conformance-client.sh

.PHONY: peers-llm
PEERS_LLM_STAMP = $(PEERS)/llm/installed-$(firstword $(shell cat tools/peers/llm/package.json tools/peers/llm/package-lock.json | cksum))

peers-llm: $(PEERS_LLM_STAMP) ## install a model server that others wrote and run the tests that ask it
	WEIR_PEERS="$$PWD/$(PEERS)" $(GO) test -count=1 -timeout $(TIMEOUT) -run Peer ./membrane/...

$(PEERS_LLM_STAMP):
	@mkdir -p $(PEERS)/llm && rm -f $(PEERS)/llm/installed-* && cp tools/peers/llm/package.json tools/peers/llm/package-lock.json $(PEERS)/llm/
	cd $(PEERS)/llm && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

.PHONY: peers-server conformance conformance-server
peers-server: peers-install ## third-party clients that drive weir mcp serve: TypeScript, and Go in a module of its own
	WEIR_PEERS="$$PWD/$(PEERS)" $(GO) test -count=1 -timeout $(TIMEOUT) -run TestPeerTypeScript ./mcp/server
	$(GO) -C peers test -count=1 -timeout $(TIMEOUT) ./...

conformance: conformance-server conformance-client ## the MCP conformance suite, both sides

conformance-server: peers-install ## the server scenarios of the MCP conformance suite
	@out=$$(mktemp); trap 'rm -f "$$out"' EXIT; \
	WEIR_PEERS="$$PWD/$(PEERS)" $(GO) test ./mcp/server -run '^TestPeerConformance$$' -count=1 -v -timeout $(TIMEOUT) > "$$out" 2>&1 || { cat "$$out"; exit 1; }; \
	grep -oE '(server|2[0-9-]+): [0-9]+ passed, 0 failed' "$$out"

.PHONY: cold
cold: ## build the command with an empty build cache and say how long it took
	@dir=$$(mktemp -d); trap 'rm -rf "$$dir"' EXIT; start=$$(date +%s); \
	GOCACHE="$$dir/cache" $(GO) build -o "$$dir/weir" ./cmd/weir; \
	echo "cold build of ./cmd/weir: $$(($$(date +%s) - start)) s on $$(getconf _NPROCESSORS_ONLN) cores (goal: at most 90 s on 2)"

.PHONY: demo
demo: ## the whole machine on real files, no key, no network
	$(GO) run ./cmd/weir demo

.PHONY: tools
tools: $(TOOLS) ## build the pinned tools into .bin/

$(STAMP):
	@mkdir -p $(BIN) && rm -f $(BIN)/tools-* && touch $@

$(BIN)/golangci-lint: $(STAMP)
	@echo 'build golangci-lint (some minutes the first time)'
	@cd tools && $(GO) build -o ../$@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint && touch ../$@

$(BIN)/sqlc: $(STAMP)
	@echo 'build sqlc (some minutes the first time)'
	@cd tools && $(GO) build -o ../$@ github.com/sqlc-dev/sqlc/cmd/sqlc && touch ../$@

$(BIN)/gofumpt: $(STAMP)
	@echo 'build gofumpt'
	@cd tools && $(GO) build -o ../$@ mvdan.cc/gofumpt && touch ../$@
