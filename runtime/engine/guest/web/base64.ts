// atob and btoa, in native code.
import { host } from '../host.ts';
import { DOMException } from './dom-exception.ts';
import { requireArguments, toDomString } from './webidl.ts';

/** The global `atob`, which decodes base64 to one character per byte. */
export function atob(data: string): string {
  requireArguments(arguments.length, 1, 'atob');
  const text = host.atob(toDomString(data));
  if (text === undefined) throw new DOMException('The string to decode is not base64', 'InvalidCharacterError');
  return text;
}

/** The global `btoa`, which encodes one character per byte as base64. */
export function btoa(data: string): string {
  requireArguments(arguments.length, 1, 'btoa');
  const text = host.btoa(toDomString(data));
  if (text === undefined)
    throw new DOMException('The string to encode contains a character above U+00FF', 'InvalidCharacterError');
  return text;
}
