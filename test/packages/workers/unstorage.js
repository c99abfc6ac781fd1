// unstorage with its drivers for KV and R2, over the state and file bindings. Run by
// test/integration/packages-storage.test.ts.
import { createStorage, prefixStorage } from 'unstorage';
import kvDriver from 'unstorage/drivers/cloudflare-kv-binding';
import r2Driver from 'unstorage/drivers/cloudflare-r2-binding';

async function use(storage) {
  const users = prefixStorage(storage, 'users');
  await users.setItem('ada', { name: 'Ada', since: 1815 });
  await users.setItem('bob', 'plain text');
  await storage.setItemRaw('bytes', new Uint8Array([1, 2, 255]));
  const found = {
    ada: await users.getItem('ada'),
    bob: await users.getItem('bob'),
    nobody: await users.getItem('nobody'),
    bytes: Array.from(new Uint8Array(await storage.getItemRaw('bytes', { type: 'arrayBuffer' }))),
    has: [await storage.hasItem('users:ada'), await storage.hasItem('users:nobody')],
    keys: (await storage.getKeys()).sort(),
    users: (await users.getKeys()).sort(),
  };
  await users.removeItem('ada');
  const left = (await storage.getKeys()).sort();
  await storage.clear();
  return { ...found, left, cleared: await storage.getKeys() };
}

export default {
  async fetch(request, env) {
    const isFiles = new URL(request.url).pathname === '/files';
    const driver = isFiles ? r2Driver({ binding: env.FILES, base: 'app' }) : kvDriver({ binding: env.KV, base: 'app' });
    try {
      return Response.json(await use(createStorage({ driver })));
    } catch (error) {
      return new Response(error.stack, { status: 500 });
    }
  },
};
