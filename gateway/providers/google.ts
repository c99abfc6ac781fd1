// The protocol of Google's Gemini API: generateContent, its stream, and batchEmbedContents.
import type { Target, Wire } from '../contract/wire.ts';
import { chatAnswer, embeddingsAnswer, openStream, saidOf } from './google-answer.ts';
import { embedRequest, generateRequest } from './google-request.ts';

export const googleWire: Wire = {
  chatRequest: (target, request, { isBounded, tokensDefault }) => ({
    path: pathOf(target, request.stream === true ? 'streamGenerateContent?alt=sse' : 'generateContent'),
    headers: keyOf(target),
    body: generateRequest(target.model, request, isBounded ? tokensDefault : null),
  }),
  chatAnswer,
  openStream,
  embeddingsRequest: (target, request) => ({
    path: pathOf(target, 'batchEmbedContents'),
    headers: keyOf(target),
    body: embedRequest(target.model, request),
  }),
  embeddingsAnswer,
  said: saidOf,
};

/** The model name is untrusted input. */
const pathOf = ({ model }: Target, method: string): string =>
  `/models/${encodeURIComponent(model.toWellFormed())}:${method}`;

const keyOf = ({ provider }: Target): Record<string, string> => ({ 'x-goog-api-key': provider.key });
