// Where handlers are: origins of API_HANDLER_URL, and names that several of them share.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openHandlerAddresses, parseHandlerUrls } from '#core/process/handler-addresses.ts';

test('API_HANDLER_URL is one origin or several', () => {
  assert.deepEqual(parseHandlerUrls('http://one:8081/, http://two:8081,http://one:8081'), [
    'http://one:8081',
    'http://two:8081',
  ]);
  for (const wrong of ['handler:8081', 'http://one:8081/path', 'ftp://one', 'http://user:word@one:8081'])
    assert.throws(() => parseHandlerUrls(wrong), {
      message:
        'API_HANDLER_URL must be addresses of private ports without a path, such as http://handler:8081, with commas between several',
    });
});

test('a name stands for all its addresses, looked up again after a second', async () => {
  let [now, asked] = [0, 0];
  let addresses = ['10.0.0.2', '10.0.0.1'];
  const resolve = async (name: string): Promise<readonly string[]> => {
    asked++;
    if (name === 'gone') throw new Error('ENOTFOUND');
    return name === 'six' ? ['fd00::1'] : addresses;
  };
  const handlers = openHandlerAddresses(
    ['http://handler:8081', 'http://gone:8081', 'http://six:8081', 'http://10.0.0.9:8081'],
    resolve,
    () => now,
  );
  assert.deepEqual(await handlers.find(), [
    'http://10.0.0.1:8081',
    'http://10.0.0.2:8081',
    'http://10.0.0.9:8081',
    'http://[fd00::1]:8081',
  ]);
  addresses = ['10.0.0.3'];
  now = 999;
  assert.equal((await handlers.find()).length, 4);
  assert.equal(asked, 3);
  now = 1001;
  assert.deepEqual(await handlers.find(), ['http://10.0.0.3:8081', 'http://10.0.0.9:8081', 'http://[fd00::1]:8081']);
});

test('an address, localhost and what speaks TLS are asked as they are', async () => {
  const origins = ['http://127.0.0.1:8081', 'http://localhost:8081', 'https://handler.example.com'];
  const handlers = openHandlerAddresses(origins, () => assert.fail('nothing is to be looked up'));
  assert.deepEqual(await handlers.find(), origins);
});
