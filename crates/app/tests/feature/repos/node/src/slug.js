// The names that headings have in links.

/** The names of all headings of one file, in their order. */
export function slugs(headings) {
  const seen = new Map()
  return headings.map((heading) => {
    const name = slug(heading)
    const count = seen.get(name) ?? 0
    seen.set(name, count + 1)
    return count === 0 ? name : `${name}-${count}`
  })
}

function slug(heading) {
  return heading
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replace(/\s/g, '-')
}
