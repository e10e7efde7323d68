//go:build race

package scripting_test

import "time"

const (
	// raced says that nothing limits the memory of scripts here.
	raced = true
	// slack is what a script may take over its time limit.
	slack = 10 * time.Second
)
