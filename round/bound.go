package round

// inline is what one result takes of the round's room.
type inline struct {
	// chars is the length of what would be shown.
	chars int
	// page results count and are never shortened.
	page bool
}

// MinCap is the lowest cap that is ever used, in characters.
const MinCap = 1000

// rooms gives each result the characters that it may take, so that their sum fits the bound: while it
// does not, the largest is shortened (of equals the later one) to an equal share of the bound, which is
// never below [MinCap]. 0 means that the result keeps what it has.
func rooms(results []inline, bound int) []int {
	room := make([]int, len(results))
	if len(results) == 0 {
		return room
	}
	share := max(MinCap, bound/len(results))
	sum := 0
	for _, r := range results {
		sum += r.chars
	}
	for sum > bound {
		largest := -1
		for i, r := range results {
			if r.page || room[i] > 0 || r.chars <= share {
				continue
			}
			if largest < 0 || r.chars >= results[largest].chars {
				largest = i
			}
		}
		if largest < 0 {
			break // every result is at its share already
		}
		room[largest] = share
		sum -= results[largest].chars - share
	}
	return room
}
