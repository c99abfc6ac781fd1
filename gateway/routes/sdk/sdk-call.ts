// Headers common to all AI SDK gateway calls: the version of the SDK's model specification (`ai` 5: 2, 6: 3, 7: 4) and
// the model.
import type { Json } from '../../contract/chat.ts';
import { missing, wrong } from '../../contract/request-body.ts';

export type SpecVersion = 2 | 3 | 4;

const MODEL_HEADERS = ['ai-language-model-id', 'ai-model-id'];
const VERSION_HEADER = /^ai-[a-z]+-model-specification-version$/;
const USER_AGENT = /\bai-sdk\/gateway\/([234])\./;

/** Null if no header names the model. */
export function modelOf({ headers }: Request): string | null {
  for (const name of MODEL_HEADERS) if (headers.get(name) !== null) return headers.get(name);
  return null;
}

/** @throws {GatewayError} 400 */
export function readModelHeader(request: Request): string {
  const model = modelOf(request);
  if (model === null || model === '') throw missing(MODEL_HEADERS[0]!);
  return model;
}

/** @throws {GatewayError} 400 */
export function readVersion({ headers }: Request): SpecVersion {
  for (const [name, value] of headers) {
    if (!VERSION_HEADER.test(name)) continue;
    const version = Number(value);
    if (version === 2 || version === 3 || version === 4) return version;
    throw wrong(name, '2, 3 or 4');
  }
  throw missing('ai-language-model-specification-version');
}

/** Guesses the version from the user agent, for requests without a version header. */
export function guessVersion({ headers }: Request): SpecVersion {
  const found = USER_AGENT.exec(headers.get('user-agent') ?? '')?.[1];
  return found === '2' ? 2 : found === '3' ? 3 : 4;
}

/** An unsupported option; the SDK shows the warning to its caller. */
export type Warning =
  | { readonly kind: 'setting'; readonly name: string; readonly details?: string }
  | { readonly kind: 'tool'; readonly tool: Json }
  | { readonly kind: 'other'; readonly message: string };

/** Converts a warning to the format of this SDK version. */
export function wireWarning(warning: Warning, version: SpecVersion): Json {
  if (warning.kind === 'other') return { type: 'other', message: warning.message };
  if (warning.kind === 'tool') {
    const { tool } = warning;
    if (version === 2) return { type: 'unsupported-tool', tool };
    return { type: 'unsupported', feature: `provider-defined tool ${String(tool['id'] ?? tool['name'])}` };
  }
  const { name, details } = warning;
  const more = details === undefined ? {} : { details };
  if (version === 2) return { type: 'unsupported-setting', setting: name, ...more };
  return { type: 'unsupported', feature: name, ...more };
}
