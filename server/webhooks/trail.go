package webhooks

import "time"

const (
	// trailEvery is the minimum time between two points of a trail, and trailAge is the maximum age of a point.
	trailEvery = 5 * time.Minute
	trailAge   = 7 * 24 * time.Hour
	// trailPart limits the distance of the points: it is at most trailEvery or this part of their age. A trail therefore has about 60 points
	// at most.
	trailPart = 4
)

// point is a cursor, and a time at which it was the current one: what was delivered or has changed since then comes after the cursor.
type point struct {
	At     time.Time `json:"at"`
	Cursor string    `json:"cursor"`
}

// trail is what the library keeps of the past of a webhook, apart from its mark, which is written more often.
type trail struct {
	// Created is mark.Created.
	Created time.Time `json:"created"`
	Points  []point   `json:"points"`
}

// before returns the points up to the newest one that is not later than a time.
func before(points []point, at time.Time) []point {
	n := len(points)
	for n > 0 && points[n-1].At.After(at) {
		n--
	}
	return points[:n]
}

// thin returns the points that are not too old, without those whose neighbors are close to each other in relation to their age. The oldest
// points come first. It reuses the array of points.
func thin(points []point, now time.Time) []point {
	kept := points[:0]
	for _, p := range points {
		if now.Sub(p.At) > trailAge {
			continue
		}
		for n := len(kept); n > 1 && p.At.Sub(kept[n-2].At) <= now.Sub(p.At)/trailPart; n-- {
			kept = kept[:n-1]
		}
		kept = append(kept, p)
	}
	return kept
}
