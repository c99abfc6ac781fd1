// Parses XML documents of S3-compatible storage into trees with saxes. Used by bucket.ts. Pure; limited in depth and
// elements, declared entities are refused and no URL is fetched.
import { SaxesParser } from 'saxes';

/** An element, without its attributes. */
export interface XmlElement {
  readonly name: string;
  /** The text of this element, without the text of its children. */
  readonly text: string;
  readonly children: readonly XmlElement[];
}

/** Documents of S3 have at most five levels. */
const DEPTH_MAX = 16;
/** A list has 1,000 entries, each of about ten elements. */
const ELEMENTS_MAX = 50_000;

/** @throws {Error} for a document that is malformed, or unreasonably large. */
export function readXml(document: string): XmlElement {
  // Some storages write control characters of keys as references, which only XML 1.1 allows, but declare 1.0.
  const parser = new SaxesParser({ defaultXMLVersion: '1.1', forceXMLVersion: true });
  const open: { name: string; text: string; children: XmlElement[] }[] = [{ name: '', text: '', children: [] }];
  let elements = 0;
  const addText = (text: string): void => {
    open.at(-1)!.text += text;
  };
  parser.on('opentag', ({ name }) => {
    if (open.length > DEPTH_MAX) throw new Error(`The document has more than ${DEPTH_MAX} levels`);
    if (++elements > ELEMENTS_MAX) throw new Error(`The document has more than ${ELEMENTS_MAX} elements`);
    const element = { name, text: '', children: [] };
    open.at(-1)!.children.push(element);
    open.push(element);
  });
  parser.on('closetag', () => void open.pop());
  parser.on('text', addText);
  parser.on('cdata', addText);
  // Some storages write white space before the document, to keep the connection alive.
  parser.write(document.trimStart()).close();
  return open[0]!.children[0]!;
}

/** The text of the first child with a name, or ''. */
export function childText({ children }: XmlElement, name: string): string {
  return children.find((child) => child.name === name)?.text ?? '';
}

/** Escapes text for a document. */
export function escapeXml(text: string): string {
  return text.replace(/[&<>"]/g, (letter) => `&#${letter.charCodeAt(0)};`);
}
