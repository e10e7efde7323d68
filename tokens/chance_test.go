package tokens

import "math/rand/v2"

// chance gives the same numbers on every run.
func chance() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }
