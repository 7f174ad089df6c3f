// What is in a Markdown text: its headings and its links. Code is left out.

import { decode } from './entities.js'

const FENCE = /^ {0,3}(`{3,}|~{3,})/
const HEADING = /^ {0,3}#{1,6}\s+(.+?)\s*#*\s*$/
const LINK = /!?\[[^\]]*\]\(\s*<?([^\s<>)]+)>?(?:\s+"[^"]*")?\s*\)/g

/** `{ headings: [text], links: [{ target, line }] }`, in the order of the text. */
export function scan(text) {
  const headings = []
  const links = []
  for (const { content, line } of linesWithoutCode(text)) {
    const heading = HEADING.exec(content)
    if (heading) headings.push(heading[1])
    for (const link of content.matchAll(LINK)) {
      links.push({ target: decode(link[1]), line })
    }
  }
  return { headings, links }
}

/** The lines outside of fenced code, with the code in them blanked. */
function* linesWithoutCode(text) {
  let fence = null
  for (const [index, content] of text.split(/\r?\n/).entries()) {
    const mark = FENCE.exec(content)?.[1]
    if (fence) {
      if (mark?.[0] === fence[0] && mark.length >= fence.length) fence = null
    } else if (mark) {
      fence = mark
    } else {
      yield { content: content.replace(/(`+)(?!`).*?[^`]\1(?!`)/g, ''), line: index + 1 }
    }
  }
}
