// Splits a text into parts of a few paragraphs, each short enough to be one thought and one embedding.

const PART_CHARS = 800;

/** The parts, in order. Paragraphs stay whole unless one is longer than a part. */
export function partsOf(text: string): string[] {
  const parts: string[] = [];
  let part = '';
  for (const paragraph of text.split(/\n\s*\n/).flatMap(cut)) {
    if (part !== '' && part.length + paragraph.length > PART_CHARS) {
      parts.push(part);
      part = '';
    }
    part += part === '' ? paragraph : `\n\n${paragraph}`;
  }
  if (part !== '') parts.push(part);
  return parts;
}

/** A paragraph, or its pieces that end at spaces. */
function cut(paragraph: string): string[] {
  const pieces: string[] = [];
  let rest = paragraph.trim();
  while (rest.length > PART_CHARS) {
    const space = rest.lastIndexOf(' ', PART_CHARS);
    const end = space > 0 ? space : PART_CHARS;
    pieces.push(rest.slice(0, end));
    rest = rest.slice(end).trim();
  }
  return rest === '' ? pieces : [...pieces, rest];
}
