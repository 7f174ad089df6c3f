// Which links of some files lead nowhere.

import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'

import { scan } from './markdown.js'
import { slugs } from './slug.js'

const ELSEWHERE = /^([a-z][a-z0-9+.-]*:|\/\/)/i

/** `{ links, problems: [{ file, line, message }] }`; `links` is how many were looked at. */
export function check(files) {
  const scanned = new Map()
  const read = (file) => {
    if (!scanned.has(file)) scanned.set(file, scan(readFileSync(file, 'utf8')))
    return scanned.get(file)
  }
  let links = 0
  const problems = []
  for (const file of files) {
    for (const { target, line } of read(file).links) {
      if (ELSEWHERE.test(target)) continue
      links += 1
      const message = trouble(file, target, read)
      if (message) problems.push({ file, line, message })
    }
  }
  return { links, problems }
}

/** Why a target leads nowhere, or null. */
function trouble(file, target, read) {
  const [path, heading] = target.split('#', 2)
  const there = path === '' ? file : normalize(join(dirname(file), decodeURIComponent(path)))
  if (!existsSync(there)) return `no such file: ${target}`
  if (!heading || statSync(there).isDirectory() || !there.endsWith('.md')) return null
  if (!slugs(read(there).headings).includes(heading)) return `no such heading: ${target}`
  return null
}
