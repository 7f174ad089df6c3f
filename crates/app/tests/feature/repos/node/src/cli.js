// The command line.

import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'

import { check } from './check.js'

const USAGE = 'usage: linkcheck FILE-OR-FOLDER…'

/** Runs the command and returns the exit code. */
export function main(args, out, err) {
  const unknown = args.find((arg) => arg.startsWith('-'))
  if (unknown || args.length === 0) {
    if (unknown) err(`linkcheck: unknown option ${unknown}`)
    err(USAGE)
    return 2
  }
  const missing = args.find((arg) => !existsSync(arg))
  if (missing) {
    err(`linkcheck: no such file or folder: ${missing}`)
    return 2
  }
  const { links, problems } = check(args.flatMap(markdownFiles))
  for (const { file, line, message } of problems) out(`${file}:${line}: ${message}`)
  out(problems.length === 0 ? `all ${links} links lead somewhere` : `${problems.length} of ${links} links lead nowhere`)
  return problems.length === 0 ? 0 : 1
}

/** A file is itself; a folder is all Markdown files below it, by name. */
function markdownFiles(path) {
  if (!statSync(path).isDirectory()) return [path]
  return readdirSync(path, { withFileTypes: true })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .filter((entry) => entry.name !== 'node_modules' && !entry.name.startsWith('.'))
    .flatMap((entry) => {
      const inside = join(path, entry.name)
      if (entry.isDirectory()) return markdownFiles(inside)
      return entry.name.endsWith('.md') ? [inside] : []
    })
}
