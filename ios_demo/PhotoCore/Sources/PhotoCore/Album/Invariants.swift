/// What holds in every album (FORMAT.md, Invariants), each with the SQL that counts the rows that break it. The same as
/// in index/album/check.py, in the same order and words.
enum Invariants {
    static let all: [(problem: String, sql: String)] = [
        ("photos: rows are not 0..n-1 without a gap", "SELECT count(*) <> coalesce(max(row), -1) + 1 OR coalesce(min(row), 0) <> 0 FROM photos"),
        ("entities: rows are not 0..m-1 without a gap", "SELECT count(*) <> coalesce(max(row), -1) + 1 OR coalesce(min(row), 0) <> 0 FROM entities"),
        ("photos with half a position", "SELECT count(*) FROM photos WHERE (lat_e7 IS NULL) <> (lon_e7 IS NULL)"),
        (
            "photos off the globe",
            "SELECT count(*) FROM photos WHERE NOT (abs(coalesce(lat_e7, 0)) <= 900000000 AND abs(coalesce(lon_e7, 0)) <= 1800000000)"
        ),
        (
            "photos with an invalid UTC offset",
            """
            SELECT count(*) FROM photos WHERE NOT abs(coalesce(utc_offset, 0)) < 1440 OR utc_offset IS NOT NULL AND tz_source IN ('local',
            'name')
            """
        ),
        (
            "sharing or sensitivity labels other than low, high or NULL",
            """
            SELECT count(*) FROM (SELECT sharing, sensitivity FROM photos UNION ALL SELECT sharing, sensitivity FROM memories) WHERE NOT
            (coalesce(sharing, 'low') IN ('low', 'high') AND coalesce(sensitivity, 'low') IN ('low', 'high'))
            """
        ),
        ("memory ids below 1", "SELECT count(*) FROM memories WHERE id < 1"),
        ("memories of no photo", "SELECT count(*) FROM memories WHERE photo NOT IN (SELECT row FROM photos)"),
        ("vectors of no photo", "SELECT count(*) FROM vectors WHERE photo NOT IN (SELECT row FROM photos)"),
        (
            "mentions of no photo or entity",
            "SELECT count(*) FROM mentions WHERE photo NOT IN (SELECT row FROM photos) OR entity NOT IN (SELECT row FROM entities)"
        ),
        (
            "edges of no entity",
            "SELECT count(*) FROM edges WHERE parent NOT IN (SELECT row FROM entities) OR child NOT IN (SELECT row FROM entities)"
        ),
        ("edges whose relation is not text", "SELECT count(*) FROM edges WHERE typeof(relation) <> 'text'"),
        ("entities merged into an entity that does not exist", "SELECT count(*) FROM entities WHERE same_as NOT IN (SELECT row FROM entities)"),
        (
            "preferences that name no photo or entity",
            """
            SELECT count(*) FROM preferences WHERE kind NOT IN ('photo', 'entity') OR kind = 'photo' AND (better NOT IN (SELECT row FROM
            photos) OR worse NOT IN (SELECT row FROM photos)) OR kind = 'entity' AND (better NOT IN (SELECT row FROM entities) OR worse NOT IN
            (SELECT row FROM entities))
            """
        ),
        ("changes of no photo", "SELECT count(*) FROM changes WHERE photo NOT IN (SELECT row FROM photos)"),
        ("vectors with an invalid scale", "SELECT count(*) FROM vectors WHERE NOT (scale >= 0 AND scale < 1e+30)"),
        ("entities with half a vector", "SELECT count(*) FROM entities WHERE (data IS NULL) <> (scale IS NULL) OR NOT coalesce(scale, 0) >= 0"),
        ("events: rows are not 0..e-1 without a gap", "SELECT count(*) <> coalesce(max(row), -1) + 1 OR coalesce(min(row), 0) <> 0 FROM events"),
        (
            "photos of no event, or events of no photo",
            "SELECT count(*) FROM event_photos WHERE photo NOT IN (SELECT row FROM photos) OR event NOT IN (SELECT row FROM events)"
        ),
        ("events without photos", "SELECT count(*) FROM events WHERE row NOT IN (SELECT event FROM event_photos)"),
        (
            "events with an invalid id",
            """
            SELECT count(*) FROM events WHERE id NOT GLOB
            'ev_[0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f]'
            """
        ),
        (
            "events whose words are not text",
            "SELECT count(*) FROM events WHERE typeof(name) <> 'text' OR typeof(summary) <> 'text' OR typeof(place) NOT IN ('text', 'null')"
        ),
        (
            "events with an invalid time",
            "SELECT count(*) FROM events WHERE (starts IS NULL) <> (ends IS NULL) OR NOT coalesce(starts, 0) <= coalesce(ends, 0)"
        ),
        (
            "events whose times are not those of their photos",
            """
            WITH members AS (SELECT event, taken_at + 60000 * coalesce(utc_offset, 0) AS wall FROM event_photos JOIN photos ON photos.row =
            photo), spans AS (SELECT event, min(wall) AS first, max(wall) AS last FROM members GROUP BY event) SELECT count(*) FROM events
            JOIN spans ON event = row WHERE starts IS NOT first OR ends IS NOT last
            """
        ),
        ("events neither edited nor not", "SELECT count(*) FROM events WHERE edited NOT IN (0, 1)"),
        (
            "events with half a vector",
            """
            SELECT count(*) FROM events WHERE (data IS NULL) <> (scale IS NULL) OR NOT (coalesce(scale, 0) >= 0 AND coalesce(scale, 0) <
            1e+30)
            """
        ),
        ("memories missing from the text index", "SELECT (SELECT count(*) FROM memories) <> (SELECT count(*) FROM memories_fts_docsize)"),
    ]
}
