// What is missing for calls of models, in the words that workers, deploys, doctor and the dashboard share.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aiAdvice, aiReadiness, operatorAiFrom, operatorAiText } from '#core/ai-readiness.ts';

const none = { kinds: [], auto: [] };

test('what is missing is told apart, and the first thing that is missing is named', () => {
  const of = (...given: Parameters<typeof aiReadiness>): string => aiReadiness(...given);
  assert.equal(of(null, { kinds: ['openai'], auto: ['own/large'] }), 'no_gateway');
  assert.equal(of(none, none), 'no_provider');
  assert.equal(of({ kinds: ['openai'], auto: [] }, none), 'no_auto');
  assert.equal(of(none, { kinds: ['anthropic'], auto: [] }), 'no_auto');
  assert.equal(of({ kinds: ['mock'], auto: ['mock/echo'] }, none), 'mock');
  assert.equal(of({ kinds: ['openai'], auto: ['openai/large'] }, none), 'ready');
  assert.equal(of(none, { kinds: ['openai'], auto: ['own/large'] }), 'ready');
  assert.equal(of({ kinds: ['mock'], auto: ['mock/echo'] }, { kinds: ['openai'], auto: [] }), 'ready');
});

test('a mock provider alone is enough for auto, whoever has set it', () => {
  assert.equal(aiReadiness(none, { kinds: ['mock'], auto: [] }), 'mock');
});

test('each advice names the variables', () => {
  assert.match(aiAdvice.no_provider, /AI_PROVIDER_<NAME>_KEY and AI_AUTO/);
  assert.match(aiAdvice.no_auto, /AI_AUTO/);
  assert.match(aiAdvice.no_gateway, /AI_GATEWAY_URL/);
});

test('what the operator has set comes through a variable as it is', () => {
  const operator = { kinds: ['openai', 'mock'], auto: ['openai/large'] };
  assert.deepEqual(operatorAiFrom(operatorAiText(operator)), operator);
  assert.equal(operatorAiFrom(''), null);
});
