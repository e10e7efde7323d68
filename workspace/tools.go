package workspace

import "github.com/weir-run/weir/spill"

const (
	nameRead    = "workspace--read"
	storedMount = spill.Mount
)
