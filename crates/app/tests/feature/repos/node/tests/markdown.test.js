import assert from 'node:assert/strict'
import { test } from 'node:test'

import { scan } from '../src/markdown.js'

test('links are found with their lines', () => {
  assert.deepEqual(scan('See [a](one.md).\n\n![b](two.png "Two") and [c](<three.md#x>)').links, [
    { target: 'one.md', line: 1 },
    { target: 'two.png', line: 3 },
    { target: 'three.md#x', line: 3 },
  ])
})

test('what stands in code is no link and no heading', () => {
  const text = ['```', '[a](no.md)', '# No', '```', '`[b](no.md)` and ``[`](no.md)``', '[c](yes.md)'].join('\n')
  assert.deepEqual(scan(text), { headings: [], links: [{ target: 'yes.md', line: 6 }] })
})

test('headings are found without their marks', () => {
  assert.deepEqual(scan('# One\n\ntext\n\n## Two ##\n#Three').headings, ['One', 'Two'])
})

test('entities in a target are decoded, unknown ones stay', () => {
  assert.deepEqual(scan('[a](x&amp;y.md) [b](&foo;.md)').links.map((link) => link.target), ['x&y.md', '&foo;.md'])
})
