package tool

// Fit is the envelope's policy for a tool's results: a tool that has one is fitted to a budget instead
// of being shown by its two ends. The whole is kept either way.
type Fit struct {
	// Class bounds what a host may show: "workflow" 200,000 characters, "analysis" 100,000, "primitive"
	// 50,000; empty means primitive.
	Class string
	// Budget is the tool's own cap in tokens; it can only lower the session's. 0 means none.
	Budget int
	// Primary are the fields that come first when an object is summarised; Protected those that are
	// dropped last.
	Primary, Protected []string
	// Narrow are the arguments that narrow the result, for the hint that says how to get less.
	Narrow []string
	// Completeness is "complete", "clipped", "sampled" or "not_found" when the tool always knows; empty
	// means that the payload says so or nobody does.
	Completeness string
}
