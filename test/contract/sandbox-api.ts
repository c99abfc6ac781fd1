// The contract of the API over sandboxes: of a sandbox service behind the control plane, and of `platform dev`.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '#test/setup/until.ts';
import type { AskResourceApi } from './resource-api-answer.ts';

/** Asks for a path behind `/projects/:id`, and leaves the answer unread. */
export type OpenResourceApi = (
  method: string,
  path: string,
  given?: {
    readonly body?: string;
    readonly headers?: Readonly<Record<string, string>>;
    readonly signal?: AbortSignal;
  },
) => Promise<Response>;

/** Runs the cases. @param open as `ask` */
export function keepsToSandboxApi(ask: AskResourceApi, open: OpenResourceApi): void {
  const box = '/sandboxes/BOX/user-1';
  const exec = (command: unknown, more: object = {}) => ask('POST', `${box}/exec`, { command, ...more });
  const stream = (command: string, signal?: AbortSignal): Promise<Response> =>
    open('POST', `${box}/exec`, {
      body: JSON.stringify({ command }),
      headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
      ...(signal !== undefined && { signal }),
    });

  test('a sandbox is made by the first command, listed, and read', async () => {
    assert.deepEqual((await ask('GET', '/sandboxes/BOX')).body, { items: [], nextCursor: null });
    assert.deepEqual([(await ask('GET', box)).status, (await ask('GET', '/sandboxes/NOPE/user-1')).status], [404, 400]);
    const { status, body } = await exec('echo out; echo err >&2; exit 3');
    const { durationMs, ...result } = body;
    assert.equal(status, 200);
    assert.ok(durationMs >= 0);
    assert.deepEqual(result, {
      stdout: 'out\n',
      stderr: 'err\n',
      exitCode: 3,
      success: false,
      truncated: false,
      timedOut: false,
    });
    const { body: info } = await ask('GET', box);
    const { createdAt, lastActiveAt, ...rest } = info;
    assert.deepEqual(rest, {
      id: 'user-1',
      state: 'running',
      provider: 'local',
      machine: null,
      image: null,
      egress: null,
      ai: null,
    });
    assert.ok(createdAt <= lastActiveAt);
    assert.equal((await ask('POST', '/sandboxes/boxes/user-2/resume?machine=large')).status, 204);
    assert.equal((await ask('GET', '/sandboxes/BOX/user-2')).body.machine, 'large');
    assert.equal((await ask('POST', '/sandboxes/boxes/user-2/resume?machine=huge')).status, 400);
    const first = await ask('GET', '/sandboxes/BOX?limit=1');
    assert.deepEqual([first.body.items.length, first.body.nextCursor], [1, 'user-1']);
    const second = await ask('GET', '/sandboxes/BOX?cursor=user-1&prefix=user-');
    assert.deepEqual(
      [second.body.items.map(({ id }: { id: string }) => id), second.body.nextCursor],
      [['user-2'], null],
    );
    assert.equal((await ask('DELETE', '/sandboxes/BOX/user-2')).status, 204);
    assert.equal((await ask('GET', '/sandboxes/BOX/user-2')).status, 404);
  });

  test('a command has a folder, variables and an input, and is a list where nothing is to be escaped', async () => {
    const given = { env: { A: 'b c' }, stdin: { text: 'from stdin' }, timeoutMs: 20_000 };
    assert.equal((await exec('echo "$A"; cat', given)).body.stdout, 'b c\nfrom stdin');
    assert.equal((await exec(['printf', '%s', '$A;'])).body.stdout, '$A;');
    assert.equal((await exec('sleep 20', { timeoutMs: 50 })).body.exitCode, 124);
    for (const [body, reason] of [
      [{}, /^body/],
      [{ command: '' }, /^body/],
      [{ command: 'x', timeoutMs: 600_001 }, /may be 600000/],
      [{ command: 'x', cwd: 'no-such' }, /no-such/],
      [{ command: 'x\0' }, /NUL/],
    ] as const) {
      const { status, body: refused } = await ask('POST', `${box}/exec`, body);
      assert.ok(status === 400 || status === 404, JSON.stringify(refused));
      assert.match(refused.message, reason);
    }
  });

  test('the output of a command comes as events while it runs, and the command ends with who listens', async () => {
    const answer = await stream("echo one; echo two >&2; printf 'a\\n\\nb'; exit 7");
    assert.match(answer.headers.get('content-type')!, /^text\/event-stream/);
    const events = (await answer.text())
      .split('\n\n')
      .filter((text) => text !== '')
      .map((text) => JSON.parse(text.replace(/^data: /, '')));
    assert.deepEqual([events.at(0).type, events.at(-1).type, events.at(-1).exitCode], ['start', 'complete', 7]);
    const written = (type: string): string => events.map((event) => (event.type === type ? event.data : '')).join('');
    assert.deepEqual([written('stdout'), written('stderr')], ['one\na\n\nb', 'two\n']);

    const gone = new AbortController();
    const endless = await stream('echo $$ > pid; echo here; while :; do sleep 0.05; done', gone.signal);
    const reader = endless.body!.getReader();
    for (let text = ''; !text.includes('here');) text += Buffer.from((await reader.read()).value!).toString();
    gone.abort();
    await reader.cancel().catch(() => {});
    const runs = async (): Promise<string> =>
      (await exec('kill -0 "$(cat pid)" 2>/dev/null && echo yes || echo no')).body.stdout;
    await until(async () => (await runs()) === 'no\n');
  });

  test('files are written, listed, read and deleted', async () => {
    const at = (path: string, more = ''): string => `${box}/files/content?path=${encodeURIComponent(path)}${more}`;
    const bytes = Buffer.alloc(9_000_000, '<script>alert(1)</script>');
    assert.equal((await ask('PUT', at('app/ü page.html'), bytes)).status, 204);
    assert.equal((await ask('PUT', at('app/run', '&mode=493'), Buffer.from('#!/bin/sh\necho ran'))).status, 204);
    assert.equal((await exec('app/run && cat app/*.html | wc -c')).body.stdout.replace(/ /g, ''), 'ran\n9000000\n');
    const got = await ask('GET', at('app/ü page.html'));
    assert.ok(got.bytes.equals(bytes));
    assert.deepEqual(
      ['content-type', 'content-disposition', 'content-security-policy'].map((name) => got.headers.get(name)),
      ['application/octet-stream', "attachment; filename*=UTF-8''%C3%BC%20page.html", "sandbox; default-src 'none'"],
    );
    const { body: listed } = await ask('GET', `${box}/files?path=app`);
    assert.deepEqual(
      listed.items.map(({ name, type, size }: Record<string, unknown>) => [name, type, size]),
      [
        ['run', 'file', 18],
        ['ü page.html', 'file', 9_000_000],
      ],
    );
    const refused = async (method: string, path: string): Promise<unknown[]> => {
      const { status, body } = await ask(method, path);
      return [status, body.code];
    };
    assert.deepEqual(await refused('GET', at('none')), [404, 'file_not_found']);
    assert.deepEqual(await refused('GET', at('app')), [409, 'file_type']);
    assert.deepEqual(await refused('DELETE', at('app')), [409, 'file_type']);
    assert.deepEqual(await refused('GET', at('')), [400, 'bad_request']);
    assert.deepEqual(await refused('GET', at('../../../etc/passwd')), [403, 'file_forbidden']);
    assert.equal((await ask('DELETE', at('app', '&recursive=true'))).status, 204);
    assert.deepEqual(await refused('GET', `${box}/files?path=app`), [404, 'file_not_found']);
  });

  test('a process is started, listed, read and ended', async () => {
    const started = await ask('POST', `${box}/processes`, {
      command: 'echo ready; exec sleep 60',
      processId: 'dev',
    });
    assert.deepEqual([started.status, started.body.id, started.body.status], [200, 'dev', 'running']);
    assert.deepEqual(
      (await ask('POST', `${box}/processes`, { command: 'true', processId: 'dev' })).body.code,
      'process_exists',
    );
    await until(async () => (await ask('GET', `${box}/processes/dev/logs`)).body.logs === 'ready\n');
    assert.deepEqual(
      (await ask('GET', `${box}/processes`)).body.items.map(({ id }: { id: string }) => id),
      ['dev'],
    );
    assert.equal((await ask('DELETE', `${box}/processes/dev`)).status, 204);
    await until(async () => (await ask('GET', `${box}/processes`)).body.items[0].status === 'failed');
    const followed = await open('GET', `${box}/processes/dev/logs`, { headers: { accept: 'text/event-stream' } });
    assert.match(await followed.text(), /"data":"ready\\n".*"type":"exit"/s);
    assert.equal((await ask('DELETE', `${box}/processes/none`)).body.code, 'process_not_found');
  });

  test('a sandbox is suspended, wakes up with a call, and is destroyed', async () => {
    await ask('PUT', `${box}/files/content?path=kept`, Buffer.from('still'));
    assert.equal((await ask('POST', `${box}/suspend`)).status, 204);
    assert.equal((await ask('GET', box)).body.state, 'suspended');
    assert.equal((await exec('cat kept')).body.stdout, 'still');
    assert.equal((await ask('POST', `${box}/resume`)).status, 204);
    assert.equal((await ask('GET', box)).body.state, 'running');
    assert.equal((await ask('DELETE', box)).status, 204);
    assert.equal((await ask('DELETE', box)).status, 204);
    assert.equal((await ask('GET', box)).status, 404);
  });

  test('what a sandbox is made of is said as a worker says it, and kept until something else is said', async () => {
    const made = async (name: string): Promise<unknown[]> => {
      const { machine, image, egress } = (await ask('GET', `/sandboxes/BOX/${name}`)).body;
      return [machine, image, egress];
    };
    const allow = { mode: 'allow', allow: ['API.example.com', '*.npmjs.org'] };
    const options = { machine: 'small', image: 'tools:3', egress: allow };
    assert.equal((await ask('PUT', '/sandboxes/BOX/made', options)).status, 204);
    const narrowed = { mode: 'allow', allow: ['api.example.com', '*.npmjs.org'] };
    assert.deepEqual(await made('made'), ['small', 'tools:3', narrowed]);
    const run = { command: 'echo ran', options: { machine: 'large', image: null } };
    assert.equal((await ask('POST', '/sandboxes/BOX/made/exec', run)).body.stdout, 'ran\n');
    assert.deepEqual(await made('made'), ['large', null, narrowed]);
    const started = { command: 'true', options: { egress: { mode: 'none' } } };
    assert.equal((await ask('POST', '/sandboxes/BOX/made/processes', started)).status, 200);
    assert.deepEqual(await made('made'), ['large', null, { mode: 'none', allow: [] }]);
    for (const [refused, reason] of [
      [{ machine: 'huge' }, 'machine must be one of small, default, large, xlarge, but is "huge"'],
      [{ machine: 7 }, 'machine must be one of small, default, large, xlarge, but is number'],
      [{ size: 'small' }, /^body\.(?:options\.)?size: is not allowed$/],
      [{ image: 'a b' }, 'image must be the name of an image, such as "registry.example.com/tools:3", but is "a b"'],
      [{ egress: 'none' }, 'egress must be { mode: "all" | "none" | "allow", allow: [...] }, but is "none"'],
      [{ egress: { mode: 'some' } }, 'egress.mode must be "all", "none" or "allow", but is "some"'],
      [{ egress: { mode: 'all', allow: ['a.b'] } }, 'egress.allow goes with the mode "allow", not "all"'],
      [{ ai: 'yes' }, 'ai must be true or false, but is "yes"'],
      [{ snapshot: '../x' }, 'snapshot must be the id of a snapshot, such as "base-1", but is "../x"'],
      [
        { egress: { mode: 'allow', allow: Array.from({ length: 100 }, (_, at) => `${'a'.repeat(200)}${at}`) } },
        /^The options of the sandbox have \d+ characters, the limit is 12288$/,
      ],
    ] as const)
      for (const [method, path, body] of [
        ['PUT', '/sandboxes/BOX/made', refused],
        ['POST', '/sandboxes/BOX/made/exec', { command: 'true', options: refused }],
        ['POST', '/sandboxes/BOX/made/ports', { port: 80, options: refused }],
      ] as const) {
        const { status, body: said } = await ask(method, path, body);
        assert.deepEqual([status, said.code], [400, 'bad_request']);
        if (typeof reason === 'string') assert.equal(said.message, reason);
        else assert.match(said.message, reason);
      }
    assert.equal((await ask('DELETE', '/sandboxes/BOX/made')).status, 204);
  });

  test('a snapshot is taken, listed, begun from and deleted; a fork has the files', async () => {
    const refused = async (method: string, path: string, body?: unknown): Promise<unknown[]> => {
      const { status, body: said } = await ask(method, path, body);
      return [status, said.code];
    };
    const snapshots = '/sandbox-snapshots/BOX';
    assert.deepEqual(await refused('POST', '/sandboxes/BOX/base/snapshot'), [422, 'sandbox_copy_refused']);
    await ask('PUT', '/sandboxes/BOX/base/files/content?path=app/kept', Buffer.from('from base'));
    const { status, body: taken } = await ask('POST', '/sandboxes/BOX/base/snapshot?snapshot=one');
    const { createdAt, sizeBytes, ...rest } = taken;
    assert.deepEqual([status, rest], [200, { id: 'one', of: 'base' }]);
    assert.ok(createdAt > 0 && sizeBytes >= 9, JSON.stringify(taken));
    assert.deepEqual(await refused('POST', '/sandboxes/BOX/base/snapshot?snapshot=one'), [409, 'sandbox_exists']);
    assert.deepEqual(await refused('POST', '/sandboxes/BOX/base/snapshot?snapshot=..%2Fx'), [400, 'bad_request']);
    assert.deepEqual((await ask('GET', snapshots)).body, { items: [taken], nextCursor: null });
    assert.deepEqual((await ask('GET', `${snapshots}?prefix=two`)).body.items, []);
    const kept = async (name: string): Promise<string> =>
      (await ask('GET', `/sandboxes/BOX/${name}/files/content?path=app/kept`)).bytes.toString();
    assert.equal((await ask('PUT', '/sandboxes/BOX/begun', { snapshot: 'one' })).status, 204);
    assert.equal(await kept('begun'), 'from base');
    assert.deepEqual(await refused('PUT', '/sandboxes/BOX/other', { snapshot: 'none' }), [404, 'snapshot_not_found']);
    assert.equal((await ask('POST', '/sandboxes/BOX/base/fork?to=forked')).status, 204);
    assert.equal(await kept('forked'), 'from base');
    assert.deepEqual(await refused('POST', '/sandboxes/BOX/base/fork?to=forked'), [409, 'sandbox_exists']);
    assert.deepEqual(await refused('POST', '/sandboxes/BOX/base/fork'), [400, 'bad_request']);
    assert.equal((await ask('DELETE', `${snapshots}/one`)).status, 204);
    assert.deepEqual((await ask('GET', snapshots)).body.items, []);
    assert.equal(await kept('begun'), 'from base');
    for (const name of ['base', 'begun', 'forked']) await ask('DELETE', `/sandboxes/BOX/${name}`);
  });

  test('a port gets an address, says its token to who may write alone, and is taken back', async () => {
    const ports = `${box}/ports`;
    const exposed = await ask('POST', ports, { port: 8080, name: 'preview' });
    const { url, token, ...rest } = exposed.body;
    assert.deepEqual([exposed.status, rest], [200, { port: 8080, name: 'preview', auth: 'token' }]);
    assert.match(url, /^https?:\/\/port---[a-z2-7]{16}\./);
    assert.match(token, /^[\w-]{43}$/);
    assert.deepEqual((await ask('GET', ports)).body, { items: [{ url, port: 8080, name: 'preview', auth: 'token' }] });
    const { body: open } = await ask('POST', ports, { port: 9090, auth: 'public' });
    assert.deepEqual([Object.keys(open).toSorted(), open.auth], [['auth', 'name', 'port', 'url'], 'public']);
    assert.equal((await ask('POST', ports, { port: 8080, name: 'preview' })).body.token, token);
    for (const body of [{ port: 0 }, { port: 65_536 }, {}, { port: 80, auth: 'none' }, { port: 80, name: '' }])
      assert.equal((await ask('POST', ports, body)).status, 400, JSON.stringify(body));
    assert.equal((await ask('DELETE', `${ports}/8080`)).status, 204);
    assert.deepEqual(
      (await ask('GET', ports)).body.items.map(({ port }: { port: number }) => port),
      [9090],
    );
    assert.equal((await ask('DELETE', `${ports}/9090`)).status, 204);
    assert.equal((await ask('DELETE', `${ports}/0`)).status, 400);
  });

  test('what is no sandbox is refused with a reason', async () => {
    for (const [method, path, body] of [
      ['GET', '/sandboxes/BOX/-a', undefined],
      ['GET', `/sandboxes/BOX/${'a'.repeat(64)}`, undefined],
      ['POST', '/sandboxes/BOX/..%2f..%2fother%2fbox/exec', { command: 'true' }],
      ['GET', '/sandboxes/BOX?limit=1001', undefined],
      ['GET', '/sandboxes/BOX?prefix=a%2Fb', undefined],
      ['GET', '/sandboxes/DB/user-1', undefined],
      ['DELETE', `${box}/processes/..`, undefined],
      ['DELETE', `${box}/processes/dev?signal=9`, undefined],
    ] as const) {
      const { status, body: refused } = await ask(method, path, body);
      assert.ok(status === 400 || status === 404 || status === 405, `${path}: ${status}`);
      assert.ok(refused.message.length > 0);
    }
  });
}
