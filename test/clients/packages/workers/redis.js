// ioredis and redis over sockets of a worker.
import Redis from 'ioredis';
import { createClient } from 'redis';

export default {
  async fetch(request) {
    const { pathname, searchParams } = new URL(request.url);
    const port = Number(searchParams.get('port'));
    if (pathname === '/ioredis') {
      const redis = new Redis({ host: 'localhost', port });
      const other = redis.duplicate();
      try {
        await redis.set('greeting', 'hello');
        const piped = await redis.pipeline().incr('count').incr('count').exec();
        const multi = await redis.multi().set('a', 1).get('a').exec();
        const heard = new Promise((resolve) => other.on('message', (channel, message) => resolve([channel, message])));
        await other.subscribe('news');
        await redis.publish('news', 'hello');
        const big = 'x'.repeat(2_000_000);
        await redis.set('big', big);
        return Response.json({
          greeting: await redis.get('greeting'),
          piped: piped.map(([, value]) => value),
          multi: multi.map(([, value]) => value),
          heard: await heard,
          big: (await redis.get('big')).length,
          failed: await redis.call('NOTHING').catch(({ message }) => message.split(' ').slice(0, 3).join(' ')),
        });
      } finally {
        await Promise.all([redis.quit(), other.quit()]);
      }
    }
    if (pathname === '/redis') {
      const client = await createClient({ url: `redis://localhost:${port}` }).connect();
      const other = await client.duplicate().connect();
      try {
        await client.set('greeting', 'hello');
        const { promise, resolve } = Promise.withResolvers();
        await other.subscribe('news', resolve);
        await client.publish('news', 'hello');
        const multi = await client.multi().set('n', '1').incr('n').get('n').exec();
        return Response.json({ greeting: await client.get('greeting'), multi, heard: await promise });
      } finally {
        await Promise.all([client.close(), other.close()]);
      }
    }
    return new Response('?');
  },
};
