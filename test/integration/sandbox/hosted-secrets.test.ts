// Plants secrets in a machine of a hosted provider, and looks for them in what the provider is asked, and in what it
// sees of the machine. Beside them lies a text that has to be found in each of these places.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { test } from 'node:test';
import { NO_OPTIONS } from '#core/sandbox/options.ts';
import { askerOf } from '#test/contract/sandbox-asker.ts';
import { openFakeHostedBackend, startHostedProvider } from '#test/setup/hosted-provider.ts';
import { createSecretsSearch } from '#test/setup/secrets-search.ts';

test('a provider of machines is told no secret, and its machines keep none', async (context) => {
  const mark = randomBytes(8).toString('hex');
  /** Also the machine's key, which is in its name. */
  const control = `control${mark}`;
  const secrets = {
    'a variable of a call': `one${mark}call`,
    setEnvVars: `two${mark}later`,
    'a password of Git': `three${mark}git`,
    'the AI token': `pk_ai_${mark}`,
    HOSTED_API_KEY: 'hosted-key-of-the-double',
  };
  const search = createSecretsSearch();
  search.add('control', control);
  for (const [name, text] of Object.entries(secrets)) search.add(name, text);
  const encoded = Buffer.from(`me:${secrets['a password of Git']}`).toString('base64').replaceAll('=', '');
  search.add('credentials of Git', encoded);

  const asked: [head: string, body: Uint8Array][] = [];
  const reports: string[] = [];
  const provider = await startHostedProvider();
  context.after(() => provider.close());
  provider.heard = (head, body) => void asked.push([head, body]);
  const backend = await openFakeHostedBackend(provider, { report: (message) => void reports.push(message) });
  context.after(() => backend.close());
  await backend.create({ key: control, place: { project: 'shop', resource: 'box', id: 'one' }, options: NO_OPTIONS });
  const [machine] = provider.all();
  assert.ok(machine !== undefined);
  /** Keeps git waiting, so that it can be looked at. */
  const silent = createServer().listen(0, '127.0.0.1');
  context.after(() => void silent.close());
  await once(silent, 'listening');
  const { port } = silent.address() as AddressInfo;

  const box = askerOf(backend, control);
  await box.ask('setEnvVars', { variables: { LATER: secrets.setEnvVars } });
  await box.ask('setAiAccess', { url: 'https://api.example.com/ai', token: secrets['the AI token'] });
  assert.equal((await box.exec('cat "$PLATFORM_AI_TOKEN_FILE"')).stdout.trim(), secrets['the AI token']);
  const env = { ONE: secrets['a variable of a call'] };
  await box.ask('startProcess', { command: ['sh', '-c', `sleep 4719; : ${control}`], env: { ...env, TWO: control } });
  assert.equal(
    (await box.exec(`echo ${control} > note; echo $ONE | tr a-z A-Z`, { env })).stdout,
    `ONE${mark}CALL\n`.toUpperCase(),
  );
  const gone = new AbortController();
  const url = `http://me:${secrets['a password of Git']}@127.0.0.1:${port}/r.git`;
  const checkout = box.raw('gitCheckout', { url }, undefined, gone.signal).catch(() => {});
  const [git] = (await once(silent, 'connection')) as [Socket];

  const isInside = (environment: string): boolean => environment.split('\0').includes(`HOME=${machine.folder}`);
  await search.processes('command lines', 'cmdline');
  await search.processes('environments on the machine', 'environ', isInside);
  await search.files('files of the machine', machine.folder);
  gone.abort();
  git.destroy();
  await checkout;
  await backend.stop(control);
  await search.files('files of a stopped machine', machine.folder);
  await backend.destroy(control);
  for (const [head, body] of asked) {
    await search.bytes('what is asked', head);
    await search.bytes('what is sent', body);
  }
  await search.bytes('what operators are told', reports.join('\n'));

  const outcome = Object.fromEntries([...search.found].map(([name, places]) => [name, [...places].toSorted()]));
  assert.deepEqual(outcome, {
    // It can be found: in each place that it was put into.
    control: [
      'command lines',
      'environments on the machine',
      'files of a stopped machine',
      'files of the machine',
      'what is asked',
      'what is sent',
    ],
    // Where they belong: the key in `authorization`.
    HOSTED_API_KEY: ['what is asked'],
    'a variable of a call': ['environments on the machine'],
    setEnvVars: ['environments on the machine'],
  });
});
