package cases

// pendingTopics are the topics that wait as a whole, with the room that they wait for.
var pendingTopics = map[string]string{}

// pendingCases wait alone: their topics run.
var pendingCases = map[string]string{}
