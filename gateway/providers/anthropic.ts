// The protocol of Anthropic's Messages API. The provider has no embeddings.
import { Failure } from '#core/failure.ts';
import type { Wire } from '../contract/wire.ts';
import { chatAnswer, openStream, saidOf } from './anthropic-answer.ts';
import { messagesRequest } from './anthropic-request.ts';

const VERSION = '2023-06-01';

export const anthropicWire: Wire = {
  chatRequest: ({ provider, model }, request, { tokensDefault }) => ({
    path: '/messages',
    headers: { 'x-api-key': provider.key, 'anthropic-version': VERSION },
    body: messagesRequest(model, request, tokensDefault),
  }),
  chatAnswer,
  openStream,
  embeddingsRequest: null,
  embeddingsAnswer() {
    throw new Failure('unreadable_answer', 'no embeddings');
  },
  said: saidOf,
};
