// The operator's AI providers as variables: what is read, and what is wrong with each.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aiSettingsFrom, publicAiUrl } from '#core/ai-settings.ts';

const problemsOf = (environment: Record<string, string>): string[] => {
  try {
    aiSettingsFrom(environment);
    return [];
  } catch (error) {
    return (error as Error).message.split('\n');
  }
};

test('providers have the names of their variables, and what is usual for their kind', () => {
  const { providers, aliases, auto } = aiSettingsFrom({
    AI_PROVIDER_OPENAI_KEY: 'sk-1',
    AI_PROVIDER_OPENAI_MODELS: 'gpt-5, gpt-5-mini',
    AI_PROVIDER_MY_LLAMA_KIND: 'openai',
    AI_PROVIDER_MY_LLAMA_URL: 'http://127.0.0.1:11434/v1/',
    AI_PROVIDER_MOCK_KIND: 'mock',
    AI_ALIASES: 'fast=my-llama/llama3.2, deep=openai/org/gpt=5',
    AI_AUTO: 'fast,openai/gpt-5',
    AI_PROVIDER_UNUSED_KIND: ' ',
  });
  const none = { key: '', models: [] };
  assert.deepEqual(providers, [
    { name: 'openai', kind: 'openai', url: 'https://api.openai.com/v1', key: 'sk-1', models: ['gpt-5', 'gpt-5-mini'] },
    { ...none, name: 'my-llama', kind: 'openai', url: 'http://127.0.0.1:11434/v1' },
    { ...none, name: 'mock', kind: 'mock', url: '' },
  ]);
  assert.deepEqual(aliases, { fast: 'my-llama/llama3.2', deep: 'openai/org/gpt=5' });
  assert.deepEqual(auto, ['fast', 'openai/gpt-5']);
});

test('the mock alone is asked where no model is named, beside others it is not', () => {
  const auto = (more: Record<string, string>): readonly string[] =>
    aiSettingsFrom({ AI_PROVIDER_FAKE_KIND: 'mock', ...more }).auto;
  assert.deepEqual(auto({}), ['fake/echo']);
  assert.deepEqual(auto({ AI_AUTO: 'fake/tools' }), ['fake/tools']);
  assert.deepEqual(auto({ AI_PROVIDER_OPENAI_KEY: 'sk-1' }), []);
});

test('limits are by plan, and off where nothing is said', () => {
  const { limits } = aiSettingsFrom({ AI_QUOTA_TOKENS_FREE_DAY: '1000', AI_RATE_RPM_PRO: '60' });
  assert.deepEqual(limits.free, { tokensDay: 1000, tokensMonth: 0, requestsMinute: 0, tokensMinute: 0 });
  assert.deepEqual(limits.pro, { tokensDay: 0, tokensMonth: 0, requestsMinute: 60, tokensMinute: 0 });
});

test('everything that is wrong is said at once, by variable, and no key is in it', () => {
  const key = 'sk-secret\u00e9';
  const problems = problemsOf({
    AI_PROVIDER_A_URL: 'http://a.example/v1',
    AI_PROVIDER_B_KIND: 'soap',
    AI_PROVIDER_C_KIND: 'openai',
    AI_PROVIDER_C_URL: 'ftp://c.example',
    AI_PROVIDER_D_KIND: 'openai',
    AI_PROVIDER_D_URL: 'https://user:pass@d.example/v1',
    AI_PROVIDER_E_KIND: 'openai',
    AI_PROVIDER_E_URL: 'https://e.example/v1',
    AI_PROVIDER_E_KEY: key,
    AI_PROVIDER_F_APIKEY: key,
    AI_PROVIDER_OPENAI_MODELS: 'gpt-5',
    AI_ALIASES: 'fast=nobody/x,a b=c',
    AI_AUTO: 'slow',
    AI_RATE_RPM_FREE: 'many',
  });
  assert.deepEqual(problems, [
    'AI_PROVIDER_F_APIKEY is not known: there are AI_PROVIDER_<NAME>_KIND, _URL, _KEY, _MODELS',
    'AI_PROVIDER_A_KIND is not set: say what it speaks, one of openai, anthropic, google, mock',
    'AI_PROVIDER_B_KIND must be one of openai, anthropic, google, mock, but is "soap"',
    'AI_PROVIDER_C_URL must be an address of http or https with the version, such as http://127.0.0.1:11434/v1',
    'AI_PROVIDER_D_URL must not hold a user or a password: keys go into _KEY',
    'AI_PROVIDER_E_KEY has characters that no key has',
    'AI_PROVIDER_OPENAI_KEY is not set',
    'AI_ALIASES: fast must be provider/model of a provider that is set by AI_PROVIDER_<NAME>_KIND, but is "nobody/x"',
    'AI_ALIASES: "a b" is not a valid model name',
    'AI_AUTO: "slow" must be an alias, or provider/model of a provider that is set by AI_PROVIDER_<NAME>_KIND',
    'AI_RATE_RPM_FREE must be a whole number of at least 0, but is "many"',
  ]);
});

test('workers find the gateway below the address of the API', () => {
  assert.equal(publicAiUrl({}), 'http://localhost:4002/ai');
  assert.equal(publicAiUrl({ API_PORT: '5002' }), 'http://localhost:5002/ai');
  assert.equal(
    publicAiUrl({ PUBLIC_API_URL: 'https://api.example.com/', API_PORT: '5002' }),
    'https://api.example.com/ai',
  );
});
