import assert from 'node:assert/strict'
import { test } from 'node:test'

import { slugs } from '../src/slug.js'

test('names are small letters with dashes', () => {
  assert.deepEqual(slugs(['How it works', 'What’s new?', 'The `run` command', 'Größe']), [
    'how-it-works',
    'whats-new',
    'the-run-command',
    'größe',
  ])
})

test('the second heading of a name gets a number', () => {
  assert.deepEqual(slugs(['Usage', 'usage', 'Usage']), ['usage', 'usage-1', 'usage-2'])
})

test('a link in a heading counts as its text', () => {
  assert.deepEqual(slugs(['See [the docs](docs.md)']), ['see-the-docs'])
})
