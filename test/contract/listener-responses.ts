// The cases of the listener contract about whole responses. Run by listener.ts.
import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { ok, textPlain, thrownBy, type Fact } from './listener-case.ts';

export function wholeResponseCases(fact: Fact): void {
  describe('a whole response', () => {
    fact('has the byte length of its text', async (open) => {
      const { client } = await open((exchange) => exchange.send(201, textPlain, 'Zür €'));
      const raw = await client();
      raw.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
      const response = await raw.response();
      assert.equal(response.status, 201);
      assert.deepEqual(response.all('content-length'), ['8']);
      assert.equal(Buffer.from(response.body, 'latin1').toString(), 'Zür €');
    });

    fact('is UTF-8, whatever range the letters of its text are from', async (open) => {
      for (const text of ['grüße', 'ÿ', '🦊 grüße', `${'a'.repeat(70_000)}é`]) {
        const { client } = await open((exchange) => exchange.send(200, '', text));
        const raw = await client();
        raw.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
        assert.equal(Buffer.from((await raw.response()).body, 'latin1').toString('utf8'), text);
      }
    });

    fact('may be bytes, or empty, or null', async (open) => {
      const bodies = [new Uint8Array([0, 255, 10]), '', null, new Uint8Array(0)];
      const { client } = await open((exchange) => exchange.send(200, '', bodies.shift()!));
      const raw = await client();
      const got: string[] = [];
      for (let i = 0; i < 4; i++) {
        raw.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
        const response = await raw.response();
        got.push(`${response.all('content-length').join()}:${response.body}`);
      }
      assert.deepEqual(got, ['3:\x00\xff\n', '0:', '0:', '0:']);
    });

    fact('is counted by the bytes of its body, as a stream too', async (open) => {
      const counted: (readonly [target: string, bytes: number])[] = [];
      const { client } = await open((exchange) => {
        const { target } = exchange;
        if (target === '/text') exchange.send(200, textPlain, 'Zür €');
        else if (target === '/large') exchange.send(200, '', new Uint8Array(100_000));
        else if (target === '/none') exchange.send(200, '', null);
        else {
          exchange.begin(200, '');
          exchange.write('Zür €');
          exchange.write(new Uint8Array(10));
          exchange.end();
        }
        counted.push([target, exchange.sentBytes]);
      });
      const raw = await client();
      for (const target of ['/text', '/large', '/none', '/stream']) {
        raw.send(`GET ${target} HTTP/1.1\r\nHost: a\r\n\r\n`);
        await raw.response();
      }
      assert.deepEqual(counted, [
        ['/text', 8],
        ['/large', 100_000],
        ['/none', 0],
        ['/stream', 18],
      ]);
    });

    fact('of many bytes arrives whole, and leaves them as they were unless they are transferred', async (open) => {
      const kept = new Uint8Array(3_000_000).fill(107);
      const { client } = await open((exchange) => {
        const isTransferred = exchange.target === '/transferred';
        exchange.send(200, '', isTransferred ? new Uint8Array(3_000_000).fill(116) : kept, isTransferred);
      });
      const raw = await client();
      for (const target of ['/transferred', '/kept', '/transferred', '/kept']) {
        raw.send(`GET ${target} HTTP/1.1\r\nHost: a\r\n\r\n`);
        assert.ok((await raw.response()).body === target[1]!.repeat(3_000_000), target);
      }
      assert.ok(kept.byteLength === 3_000_000 && kept.every((byte) => byte === 107));
    });

    fact('keeps the bytes of a Latin-1 header value beside a text body', async (open) => {
      const bodies = ['ascii', 'Zür €'];
      const { client } = await open((exchange) => exchange.send(200, 'x-name\0Andr\xe9\0', bodies.shift()!));
      const raw = await client();
      for (let i = 0; i < 2; i++) {
        raw.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
        assert.deepEqual((await raw.response()).all('x-name'), ['Andr\xe9']);
      }
    });

    fact(
      'has no cookies for other hosts than its own, whole or as a stream, and the exchange knows which',
      async (open) => {
        const block =
          'set-cookie\0a=1; Path=/; Domain=shop.localhost\0x-a\x001\0set-cookie\0b=2; DOMAIN = .localhost \0set-cookie\0c=3\0set-cookie\0d=4;domain=other.localhost\0';
        const refused: string[] = [];
        const { client } = await open(
          (exchange) => {
            if (exchange.target === '/whole') exchange.send(200, block, 'ok');
            else {
              exchange.begin(200, block);
              exchange.write('ok');
              exchange.end();
            }
            refused.push(exchange.refusedCookies);
          },
          { domains: ['localhost'] },
        );
        const raw = await client();
        for (const target of ['/whole', '/stream', '/whole']) {
          raw.send(`GET ${target} HTTP/1.1\r\nHost: shop.localhost:4001\r\n\r\n`);
          const response = await raw.response();
          assert.deepEqual(response.all('set-cookie'), ['a=1; Path=/; Domain=shop.localhost', 'c=3'], target);
          assert.deepEqual(response.all('x-a'), ['1']);
        }
        assert.deepEqual(refused, ['"b", "d"', '"b", "d"', '"b", "d"']);
      },
    );

    fact('to HEAD has the content-length and no body', async (open) => {
      const { client } = await open((exchange) => exchange.send(200, textPlain, 'hello'));
      const raw = await client();
      raw.send('HEAD / HTTP/1.1\r\nHost: a\r\n\r\nHEAD / HTTP/1.1\r\nHost: a\r\n\r\n');
      for (let i = 0; i < 2; i++) assert.deepEqual((await raw.response('HEAD')).all('content-length'), ['5']);
      assert.equal(raw.unread, '');
    });

    fact('to HEAD without a body keeps the content-length that it declares', async (open) => {
      const { client } = await open((exchange) => exchange.send(200, 'content-length\x001234\0', null));
      const raw = await client();
      raw.send('HEAD / HTTP/1.1\r\nHost: a\r\n\r\n');
      assert.deepEqual((await raw.response('HEAD')).all('content-length'), ['1234']);
    });

    fact('names its request once: as the handler said, or as the block says already', async (open) => {
      const { client } = await open((exchange) => {
        exchange.requestId = exchange.target === '/unnamed' ? '' : 'of-the-handler';
        const block = exchange.target === '/own' ? `${textPlain}x-request-id\0own\0` : textPlain;
        if (exchange.target !== '/stream') exchange.send(200, block, 'ok');
        else {
          exchange.begin(200, block);
          exchange.end();
        }
      });
      const raw = await client();
      const named: string[][] = [];
      for (const target of ['/', '/own', '/unnamed', '/stream']) {
        raw.send(`GET ${target} HTTP/1.1\r\nHost: a\r\n\r\n`);
        named.push((await raw.response()).all('x-request-id'));
      }
      assert.deepEqual(named, [['of-the-handler'], ['own'], [], ['of-the-handler']]);
    });

    for (const status of [204, 304]) {
      fact(`of status ${status} has neither body nor framing`, async (open) => {
        const { client } = await open((exchange) =>
          exchange.send(exchange.target === '/' ? status : 200, 'x-a\x001\0', 'body'),
        );
        const raw = await client();
        raw.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
        const response = await raw.response();
        assert.equal(response.status, status);
        assert.deepEqual(response.all('transfer-encoding'), []);
        if (status === 204) assert.deepEqual(response.all('content-length'), []);
        raw.send('GET /next HTTP/1.1\r\nHost: a\r\n\r\n');
        assert.equal((await raw.response()).body, 'body');
      });
    }

    fact('has one date, and the one that the worker set', async (open) => {
      const blocks = ['', 'date\0Thu, 01 Jan 1970 00:00:00 GMT\0'];
      const { client } = await open((exchange) => exchange.send(200, blocks.shift()!, 'x'));
      const raw = await client();
      raw.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
      const own = (await raw.response()).all('date');
      assert.equal(own.length, 1);
      assert.ok(Math.abs(Date.parse(own[0]!) - Date.now()) < 60_000);
      raw.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
      assert.deepEqual((await raw.response()).all('date'), ['Thu, 01 Jan 1970 00:00:00 GMT']);
    });

    fact('names no software', async (open) => {
      const { client } = await open(ok);
      const raw = await client();
      raw.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
      const names = (await raw.response()).headers.map(([name]) => name).sort();
      assert.deepEqual(
        names.filter((name) => name !== 'connection' && name !== 'keep-alive'),
        ['content-length', 'content-type', 'date'],
      );
    });

    fact('sends several Set-Cookie as lines of their own', async (open) => {
      const { client } = await open((exchange) =>
        exchange.send(200, 'set-cookie\0a=1; Path=/\0set-cookie\0b=2, 3\0', ''),
      );
      const raw = await client();
      raw.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
      assert.deepEqual((await raw.response()).all('set-cookie'), ['a=1; Path=/', 'b=2, 3']);
    });

    fact('sets neither framing nor connection from the worker', async (open) => {
      const block =
        'connection\0close\0keep-alive\0x\0transfer-encoding\0chunked\0upgrade\0h2c\0trailer\0x\0content-length\x00999\0x-kept\x001\0';
      const { client } = await open((exchange) => exchange.send(200, block, 'abc'));
      const raw = await client();
      for (let i = 0; i < 2; i++) {
        raw.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
        const response = await raw.response();
        assert.equal(response.body, 'abc');
        assert.deepEqual([response.all('upgrade'), response.all('trailer'), response.all('x-kept')], [[], [], ['1']]);
        assert.ok(!response.all('connection').includes('close'));
      }
    });

    for (const [what, block] of [
      ['CR LF in a value', 'x-a\x001\r\nset-cookie: stolen=1\0'],
      ['a lone LF in a value', 'x-a\x001\nx-b: 2\0'],
      ['a lone CR in a value', 'x-a\x001\rx-b: 2\0'],
      ['a NUL in a value', 'x-a\x001\x002\0'],
      ['another control character in a value', 'x-a\0\x01\0'],
      ['a character above U+00FF in a value', 'x-a\0\u{10a}\0'],
      ['CR LF in a name', 'x-a\r\nx-b\x001\0'],
      ['a space in a name', 'x a\x001\0'],
      ['a colon in a name', 'x:a\x001\0'],
      ['an upper-case name', 'X-A\x001\0'],
      ['an empty name', '\x001\0'],
      ['a block that is cut off', 'x-a\0'],
      ['a content-length that is no number', 'content-length\0-1\0'],
      ['two content-lengths that differ', 'content-length\x001\0content-length\x002\0'],
      ['a block of a megabyte', `x-a\0${'x'.repeat(1024 * 1024)}\0`],
    ] as const) {
      fact(`with ${what} throws and sends nothing, so that an error can be sent`, async (open) => {
        const errors: (string | undefined)[] = [];
        const { client } = await open((exchange) => {
          errors.push(thrownBy(() => exchange.send(200, block, 'x'))?.code);
          errors.push(thrownBy(() => exchange.begin(200, block))?.code);
          exchange.send(500, textPlain, 'refused');
        });
        const raw = await client();
        raw.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
        const response = await raw.response();
        assert.deepEqual(errors, ['illegal_response', 'illegal_response']);
        assert.equal(response.status, 500);
        assert.deepEqual(response.all('set-cookie').concat(response.all('x-b')), []);
      });
    }

    fact('of a status outside 200 to 599 throws', async (open) => {
      const errors: (string | undefined)[] = [];
      const { client } = await open((exchange) => {
        for (const status of [0, 99, 101, 199, 600, 998, 999, 1000, 200.5, Number.NaN])
          errors.push(thrownBy(() => exchange.send(status, '', ''))?.code);
        ok(exchange);
      });
      const raw = await client();
      raw.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
      assert.equal((await raw.response()).body, 'ok');
      assert.deepEqual(
        errors,
        Array.from({ length: 10 }, () => 'illegal_response'),
      );
    });

    fact('counts once: what is sent after it is ignored', async (open) => {
      const { client } = await open((exchange) => {
        ok(exchange);
        exchange.send(500, '', 'second');
        exchange.begin(500, '');
        exchange.write('third');
        exchange.end();
        exchange.destroy();
      });
      const raw = await client();
      for (let i = 0; i < 2; i++) {
        raw.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
        assert.equal((await raw.response()).body, 'ok');
      }
      assert.equal(raw.unread, '');
    });

    fact('may come later, and be 8 MB long for a client that reads late', async (open) => {
      const { client } = await open((exchange) =>
        setImmediate(() => exchange.send(200, '', Buffer.alloc(8_000_000, 'x'))),
      );
      const raw = await client();
      raw.socket.pause();
      raw.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
      setTimeout(() => raw.socket.resume(), 50);
      assert.equal((await raw.response()).body.length, 8_000_000);
      raw.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
      assert.equal((await raw.response()).body.length, 8_000_000);
    });
  });
}
