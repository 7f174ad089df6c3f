import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'

import { main } from '../src/cli.js'
import { folder } from './folder.js'

function linkcheck(...args) {
  const out = []
  const err = []
  const code = main(args, (line) => out.push(line), (line) => err.push(line))
  return { code, out, err }
}

test('links that lead somewhere are fine', (t) => {
  const path = folder(t, {
    'a.md': '# A\n[b](docs/b.md#two) [self](#a) [net](https://example.org/x) [folder](docs)',
    'docs/b.md': '## Two\n[up](../a.md)',
  })
  assert.deepEqual(linkcheck(path), { code: 0, out: ['all 4 links lead somewhere'], err: [] })
})

test('links that lead nowhere are named with file and line', (t) => {
  const path = folder(t, { 'a.md': '# A\n\n[b](b.md)\n[c](#c)\n[a](#a)' })
  assert.deepEqual(linkcheck(path), {
    code: 1,
    out: [
      `${join(path, 'a.md')}:3: no such file: b.md`,
      `${join(path, 'a.md')}:4: no such heading: #c`,
      '2 of 3 links lead nowhere',
    ],
    err: [],
  })
})

test('spaces in a path may be encoded', (t) => {
  const path = folder(t, { 'a.md': '[b](my%20file.md)', 'my file.md': '' })
  assert.equal(linkcheck(path).code, 0)
})

test('folders that are hidden or installed are left out', (t) => {
  const path = folder(t, { 'a.md': '', '.git/x.md': '[x](no.md)', 'node_modules/m/y.md': '[y](no.md)' })
  assert.deepEqual(linkcheck(path).out, ['all 0 links lead somewhere'])
})

test('a wrong command line is refused', () => {
  assert.deepEqual(linkcheck(), { code: 2, out: [], err: ['usage: linkcheck FILE-OR-FOLDER…'] })
  assert.deepEqual(linkcheck('--fast').err[0], 'linkcheck: unknown option --fast')
  assert.deepEqual(linkcheck('/not/there').err, ['linkcheck: no such file or folder: /not/there'])
})
