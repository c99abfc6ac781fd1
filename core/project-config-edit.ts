// Changes to the text of a platform.yaml that keep its comments and layout. Called by `platform types`. No I/O.
import { isMap, isScalar, parseDocument } from 'yaml';

/**
 * Sets `agentSDK: true`. The document tells where; the text around it stays as it is, byte for byte.
 *
 * @throws {Error} when the text is not a map; read it with `parseProjectConfig` first.
 * @example setAgentSdk('kind: worker # mine\n') // 'kind: worker # mine\nagentSDK: true\n'
 */
export function setAgentSdk(text: string): string {
  const mark = text.startsWith('\ufeff') ? '\ufeff' : '';
  const plain = text.slice(mark.length);
  const document = parseDocument(plain, { schema: 'core', prettyErrors: false, logLevel: 'error' });
  const { contents } = document;
  const empty = contents === null || (isScalar(contents) && contents.value === null);
  if (document.errors.length > 0 || !(isMap(contents) || empty)) throw new Error('The text is not a YAML map');
  if (isMap(contents)) {
    if (document.get('agentSDK') === true) return text;
    const value = document.get('agentSDK', true);
    if (isScalar(value) && value.range && value.source !== undefined && value.source !== '') {
      return `${mark}${plain.slice(0, value.range[0])}true${plain.slice(value.range[1])}`;
    }
  }
  // A written null, such as `~`, gives way to the map.
  if (isScalar(contents) && contents.range && contents.range[1] > contents.range[0]) {
    return `${mark}${plain.slice(0, contents.range[0])}agentSDK: true${plain.slice(contents.range[1])}`;
  }
  const isPlainBlock = !isMap(contents) || (contents.flow !== true && !document.has('agentSDK'));
  if (!isPlainBlock || document.directives?.docEnd === true || /^\.\.\.\s*$/m.test(plain)) {
    document.set('agentSDK', true);
    return mark + document.toString({ lineWidth: 0 });
  }
  const eol = plain.includes('\r\n') ? '\r\n' : '\n';
  const indent = isMap(contents) ? ' '.repeat(columnOf(plain, contents.range?.[0] ?? 0)) : '';
  const end = plain === '' || plain.endsWith('\n') ? '' : eol;
  return `${mark}${plain}${end}${indent}agentSDK: true${eol}`;
}

/** Column from 0. A root map may be indented; its keys must line up. */
function columnOf(text: string, offset: number): number {
  return offset - (text.lastIndexOf('\n', offset - 1) + 1);
}
