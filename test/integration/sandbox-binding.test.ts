// Sandboxes from inside a worker: the binding, an engine, the service's routes and an agent, over processes of this
// machine. test/dev and test/machines have them under `platform dev` and under a supervisor.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createSandboxTransport } from '#runtime/engine/bindings/sandbox-transport.ts';
import { freePort } from '#test/setup/free-port.ts';
import { startHandler, type TestHandler } from '#test/setup/handler.ts';
import { startTestSandboxService, type TestSandboxService } from '#test/setup/sandbox-service.ts';

const worker = `
const seen = (stream) => new Response(stream).text().then((text) =>
  text.trim().split('\\n\\n').map((line) => JSON.parse(line.slice('data: '.length))));
export default {
  async fetch(request, env) {
    const { BOX, OTHER } = env;
    const run = new Function('env', 'BOX', 'OTHER', 'seen', 'return (async () => {' + (await request.text()) + '})()');
    try { return Response.json((await run(env, BOX, OTHER, seen)) ?? null); }
    catch (error) { return Response.json({ error: error.name + ': ' + error.message, code: error.code }); }
  },
};`;
const yaml = 'sandbox:\n  BOX: boxes\n  OTHER: others\n';

let service: TestSandboxService;
let handler: TestHandler;

before(async () => {
  service = await startTestSandboxService();
  const { url, token } = service.address;
  handler = await startHandler(
    { shop: { files: worker, yaml }, rival: { files: worker, yaml } },
    {},
    { sandboxes: createSandboxTransport({ origin: url, token }) },
  );
});
after(async () => {
  await handler.close();
  await service.close();
});

async function run(code: string, project = 'shop'): Promise<unknown> {
  return (await handler.fetch(project, '/', { method: 'POST', body: code })).json();
}

test('a command gives its output and exit code', async () => {
  const result = await run(`
    const { durationMs, ...result } = await BOX.get('one').exec('echo out; echo err >&2; exit 3');
    return { ...result, took: durationMs >= 0 };`);
  assert.deepEqual(result, {
    stdout: 'out\n',
    stderr: 'err\n',
    exitCode: 3,
    success: false,
    truncated: false,
    timedOut: false,
    took: true,
  });
});

test('a terminal is two streams, has the size that it is given, and says how its program ended', async () => {
  assert.deepEqual(
    await run(`
      const box = BOX.get('one');
      const terminal = await box.terminal({ command: 'stty size; read line; echo "<$line>"; stty size; tty >&2; exit 7', cols: 100, rows: 30, env: { A: 'b' } });
      const reader = terminal.readable.pipeThrough(new TextDecoderStream()).getReader();
      let printed = '';
      const readTo = async (text) => {
        for (let part = await reader.read(); !part.done; part = await reader.read()) {
          printed += part.value;
          if (text !== null && printed.includes(text)) return;
        }
      };
      await readTo('100\\r\\n');
      await terminal.resize(132, 50);
      const writer = terminal.writable.getWriter();
      await writer.write('typed\\r');
      await readTo(null);
      return [printed.replace(/pts.\\d+/, 'pts/N'), await terminal.exited];`),
    ['30 100\r\ntyped\r\n<typed>\r\n50 132\r\n/dev/pts/N\r\n', { exitCode: 7 }],
  );
});

test('a handle is there at once, and an odd id is refused', async () => {
  assert.deepEqual(
    await run(`return [BOX.get('user-1.a_B').id, ...['', 'a/b', '../x', 'ü', 7, 'x'.repeat(64)].map((id) => {
      try { return BOX.get(id); } catch (error) { return error.name; } })];`),
    ['user-1.a_B', ...Array.from({ length: 6 }, () => 'TypeError')],
  );
});

test('what a sandbox is made of is kept, and changes with its files kept', async () => {
  assert.deepEqual(
    await run(`
      const made = async (options) => {
        const { machine, image, egress } = await BOX.get('sized', options).info();
        return [machine, image, egress];
      };
      const seen = [];
      await BOX.get('sized', { machine: 'small' }).writeFile('kept', 'here');
      seen.push(await made());
      const grown = BOX.get('sized', { machine: 'large', image: 'tools:3', egress: { mode: 'allow', allow: ['Example.com'] } });
      await grown.startProcess('exec sleep 4805', { processId: 'old' });
      seen.push((await grown.readFile('kept')).content, (await grown.listProcesses()).length, await made());
      const back = BOX.get('sized', { machine: null, egress: { mode: 'none' } });
      seen.push((await back.readFile('kept')).content, await back.listProcesses(), await made());
      seen.push((await BOX.get('sized').exec('cat kept')).stdout);
      return seen;`),
    [
      ['small', null, null],
      'here',
      1,
      ['large', 'tools:3', { mode: 'allow', allow: ['example.com'] }],
      'here',
      [],
      [null, 'tools:3', { mode: 'none', allow: [] }],
      'here',
    ],
  );
});

test('what no sandbox can be made of is refused with what it may be, and nothing is made', async () => {
  assert.deepEqual(
    await run(`
      const refusals = [];
      for (const options of [
        { machine: 'huge' }, { machine: 2 }, { image: '-rf /' }, { image: '' }, { size: 'small' }, { egress: 'none' },
        { egress: { mode: 'some' } }, { egress: { mode: 'none', allow: ['a.b'] } }, { egress: { mode: 'allow', allow: ['http://a.b'] } },
        { egress: { mode: 'allow', allow: Array(101).fill('a.b') } }, { egress: { mode: 'all', ports: [] } }, { ['__proto__x']: 1 },
      ])
        refusals.push(await BOX.get('never', options).exec('true').catch(({ code, message }) => code + ': ' + message));
      for (const options of [null, 'large', []])
        try { BOX.get('never', options); } catch (error) { refusals.push(error.name + ': ' + error.message); }
      return [refusals, await BOX.get('never').info()];`),
    [
      [
        'invalid_argument: machine must be one of small, default, large, xlarge, but is "huge"',
        'invalid_argument: machine must be one of small, default, large, xlarge, but is number',
        'invalid_argument: image must be the name of an image, such as "registry.example.com/tools:3", but is "-rf /"',
        'invalid_argument: image must be the name of an image, such as "registry.example.com/tools:3", but is ""',
        'invalid_argument: A sandbox has no option "size": its options are machine, image, egress, ai, snapshot',
        'invalid_argument: egress must be { mode: "all" | "none" | "allow", allow: [...] }, but is "none"',
        'invalid_argument: egress.mode must be "all", "none" or "allow", but is "some"',
        'invalid_argument: egress.allow goes with the mode "allow", not "none"',
        'invalid_argument: egress.allow takes names such as "api.example.com" and "*.example.com", but is "http://a.b"',
        'invalid_argument: egress.allow has 101 names, and may have 100',
        'invalid_argument: egress has no "ports": it accepts mode and allow',
        'invalid_argument: A sandbox has no option "__proto__x": its options are machine, image, egress, ai, snapshot',
        'TypeError: The options of a sandbox must be an object with machine, image, egress, ai or snapshot, but are null',
        'TypeError: The options of a sandbox must be an object with machine, image, egress, ai or snapshot, but are string',
        'TypeError: The options of a sandbox must be an object with machine, image, egress, ai or snapshot, but are an array',
      ],
      null,
    ],
  );
});

test('commands take programs with arguments, input, variables and a folder', async () => {
  assert.deepEqual(
    await run(`
      const box = BOX.get('one');
      await box.mkdir('sub');
      return [
        (await box.exec(['printf', '%s|', '$HOME', 'a b'])).stdout,
        (await box.exec('cat', { stdin: 'text' })).stdout,
        (await box.exec('od -An -tu1', { stdin: new Uint8Array([0, 254]) })).stdout.trim().split(/ +/).join(),
        (await box.exec('echo $A; basename "$PWD"', { env: { A: '1' }, cwd: 'sub' })).stdout,
      ];`),
    ['$HOME|a b|', 'text', '0,254', '1\nsub\n'],
  );
});

test('output comes as it is written, by a callback or as server-sent events', async () => {
  assert.deepEqual(
    await run(`
      const box = BOX.get('one');
      const pieces = [];
      const { stdout, stderr, exitCode } = await box.exec('echo one; echo two >&2; exit 5', {
        onOutput: (stream, data) => pieces.push(stream + ':' + data) });
      const events = await seen(await box.execStream('echo three'));
      return { pieces: pieces.sort(), stdout, stderr, exitCode, types: events.map(({ type }) => type), data: events[1].data };`),
    {
      pieces: ['stderr:two\n', 'stdout:one\n'],
      stdout: 'one\n',
      stderr: 'two\n',
      exitCode: 5,
      types: ['start', 'stdout', 'complete'],
      data: 'three\n',
    },
  );
});

test('a time limit and a signal end a command', async () => {
  assert.deepEqual(
    await run(`
      const box = BOX.get('one');
      const late = await box.exec('sleep 4801', { timeoutMs: 50 });
      const aborted = new AbortController();
      const pending = box.exec('echo $$ > pid; exec sleep 4802', { signal: aborted.signal });
      pending.catch(() => {});
      await box.exec('until test -s pid; do sleep 0.01; done');
      aborted.abort();
      const name = await pending.catch((error) => error.name);
      const ended = await box.exec('while kill -0 $(cat pid) 2>/dev/null; do sleep 0.01; done; echo ended');
      return [late.timedOut, late.exitCode, name, ended.stdout];`),
    [true, 124, 'AbortError', 'ended\n'],
  );
  assert.deepEqual(await run(`return BOX.get('one').exec('true', { timeoutMs: 600001 });`), {
    error:
      'SandboxError: timeoutMs is 600001, and may be 600000 (10 minutes): start longer work with startProcess, and wait for its end',
    code: 'invalid_argument',
  });
});

test('files are texts, bytes and streams', async () => {
  assert.deepEqual(
    await run(`
      const box = BOX.get('one');
      await box.writeFile('/workspace/f/text', 'grüße');
      await box.writeFile('f/bytes', new Uint8Array([0, 1, 255]));
      await box.writeFile('f/stream', new Blob(['stream', 'ed'.repeat(100000)]).stream());
      const big = await box.readFileStream('f/stream');
      return [
        (await box.readFile('f/text')).content,
        (await box.readFile('f/bytes', { encoding: 'base64' })).content,
        [...await box.readFileBytes('f/bytes')],
        (await new Response(big).text()).length,
        (await box.listFiles('f')).map(({ name, type, size }) => [name, type, size]),
        await box.exists('f/none'),
        await box.deleteFile('f', { recursive: true }),
        await box.exists('f'),
      ];`),
    [
      'grüße',
      'AAH/',
      [0, 1, 255],
      200_006,
      [
        ['bytes', 'file', 3],
        ['stream', 'file', 200_006],
        ['text', 'file', 7],
      ],
      { exists: false },
      null,
      { exists: false },
    ],
  );
  assert.deepEqual(await run(`return BOX.get('one').readFile('none');`), {
    error: 'SandboxError: No such file or folder: /workspace/none',
    code: 'file_not_found',
  });
  assert.deepEqual(await run(`return BOX.get('one').readFile('/etc/hostname');`), {
    error:
      'SandboxError: /etc/hostname cannot be used: sandboxes without isolation can only use files below /workspace',
    code: 'file_forbidden',
  });
});

test('a folder is watched until the reader goes', async () => {
  assert.deepEqual(
    await run(`
      const box = BOX.get('one');
      await box.mkdir('watched');
      const reader = (await box.watch('watched')).pipeThrough(new TextDecoderStream()).getReader();
      let text = '';
      while (!text.includes('watching')) text += (await reader.read()).value;
      await box.writeFile('watched/new', 'x');
      while (!text.includes('/workspace/watched/new"')) text += (await reader.read()).value;
      await reader.cancel();
      return text.includes('"eventType":"create"');`),
    true,
  );
});

test('a server in the background is asked, its log read, and it is ended', async () => {
  const port = await freePort();
  const server = `require('http').createServer((q, s) => { let body = ''; q.on('data', (c) => body += c).on('end', () => {
    console.log(q.url); s.writeHead(201, 'Made', { 'x-seen': q.headers['x-mine'] ?? '', 'set-cookie': ['a=1', 'b=2'] });
    s.end(q.method + ' ' + body); }); }).listen(${port}, '127.0.0.1')`;
  assert.deepEqual(
    await run(`
      const box = BOX.get('one');
      await box.writeFile('server.cjs', ${JSON.stringify(server)});
      const { id, status } = await box.startProcess(['node', 'server.cjs'], { processId: 'web' });
      await box.waitForPort(${port});
      const answer = await box.fetch(${port}, '/a?b=c', { method: 'POST', body: 'hello', headers: { 'x-mine': 'yes' } });
      const said = [answer.status, answer.statusText, answer.headers.get('x-seen'), answer.headers.getSetCookie(), await answer.text()];
      const { logs } = await box.getProcessLogs(id);
      await box.killProcess(id);
      const refused = await box.fetch(${port}, '/').catch(({ code }) => code);
      return [id, status, said, logs, (await box.getProcess(id)).status, refused, await box.getProcess('none')];`),
    [
      'web',
      'running',
      [201, 'Made', 'yes', ['a=1', 'b=2'], 'POST hello'],
      '/a?b=c\n',
      'failed',
      'port_unreachable',
      null,
    ],
  );
});

test('a session has a folder and variables of its own', async () => {
  assert.deepEqual(
    await run(`
      const box = BOX.get('one');
      await box.mkdir('app');
      await box.setEnvVars({ SHARED: 'all' });
      const session = await box.createSession({ cwd: 'app', env: { OWN: '1' } });
      await session.setEnvVars({ LATER: '2' });
      await session.writeFile('here.txt', 'x');
      return [
        (await session.exec('basename "$PWD"; echo $SHARED $OWN $LATER')).stdout,
        (await box.exec('echo [$OWN$LATER]')).stdout,
        await box.exists('app/here.txt'),
        /^[0-9a-f-]{36}$/.test(session.sessionId),
      ];`),
    ['app\nall 1 2\n', '[]\n', { exists: true }, true],
  );
});

test('sandboxes are told apart by id and by resource, listed, suspended and destroyed', async () => {
  assert.deepEqual(
    await run(`
      const a = BOX.get('list-a');
      await a.writeFile('mine', 'a');
      const others = [await BOX.get('list-b').exists('mine'), await OTHER.get('list-a').exists('mine')];
      const ids = async () => (await BOX.list({ prefix: 'list-' })).items.map(({ id, state }) => id + ' ' + state);
      const before = await ids();
      await a.suspend();
      const { state, provider } = await a.info();
      const content = (await a.readFile('mine')).content;
      await a.destroy();
      const gone = await a.info();
      return [others, before, state, provider, content, gone, await ids(), await a.exists('mine')];`),
    [
      [{ exists: false }, { exists: false }],
      ['list-a running', 'list-b running'],
      'suspended',
      'local',
      'a',
      null,
      ['list-b running'],
      { exists: false },
    ],
  );
});

test('a sandbox is kept as a snapshot, begun from it, and forked', async () => {
  assert.deepEqual(
    await run(`
      const base = BOX.get('snap-base', { machine: 'small' });
      await base.writeFile('deep/kept', 'one');
      const { createdAt, sizeBytes, ...made } = await base.snapshot({ id: 'first' });
      await base.writeFile('deep/kept', 'two');
      const forked = await base.fork('snap-fork');
      await base.destroy();
      const begun = BOX.get('snap-new', { snapshot: 'first' });
      const contents = [(await begun.readFile('deep/kept')).content, (await forked.readFile('deep/kept')).content];
      const listed = (await BOX.listSnapshots({ prefix: 'fi' })).items.map(({ id, of }) => id + ' of ' + of);
      const codes = [];
      for (const call of [
        () => begun.snapshot({ id: 'first' }), () => begun.fork('snap-fork'), () => begun.fork('../x'),
        () => begun.snapshot({ id: 7 }), () => BOX.get('snap-none').snapshot(), () => BOX.get('snap-none', { snapshot: 'none' }).exec('true'),
        () => OTHER.get('snap-none', { snapshot: 'first' }).exec('true'), () => BOX.deleteSnapshot('../x'),
      ]) codes.push(await call().catch(({ code }) => code));
      await BOX.deleteSnapshot('first');
      return [made, sizeBytes, createdAt > 1e12, contents, forked.id, (await forked.info()).machine, listed, codes, (await BOX.listSnapshots()).items];`),
    [
      { id: 'first', of: 'snap-base' },
      3,
      true,
      ['one', 'two'],
      'snap-fork',
      'small',
      ['first of snap-base'],
      [
        'sandbox_exists',
        'sandbox_exists',
        'invalid_argument',
        'invalid_argument',
        'sandbox_copy_refused',
        'snapshot_not_found',
        'snapshot_not_found',
        'invalid_argument',
      ],
      [],
    ],
  );
});

test('a call that runs while the sandbox is destroyed is told so', async () => {
  assert.deepEqual(
    await run(`
      const box = BOX.get('doomed');
      const pending = box.exec('touch begun; sleep 4803').catch((error) => error);
      await box.exec('until test -e begun; do sleep 0.01; done');
      await box.destroy();
      const { name, code } = await pending;
      return [name, code];`),
    ['SandboxError', 'sandbox_destroyed'],
  );
});

test('projects have sandboxes of their own under the same id', async () => {
  const look = `return (await BOX.get('one').exec('cat owned 2>/dev/null || echo nothing')).stdout;`;
  await run(`await BOX.get('one').writeFile('owned', 'by shop');`);
  assert.equal(await run(look), 'by shop');
  assert.equal(await run(look, 'rival'), 'nothing\n');
});

test('the token of the service is nowhere in reach of a worker or a command', async () => {
  const seen = await run(
    `const { stdout } = await BOX.get('one').exec('env');
     return JSON.stringify([env, process.env, BOX, BOX.get('one'), stdout, await BOX.get('one').info()]);`,
  );
  assert.ok(!String(seen).includes(service.address.token));
});

test('bytes go both ways as streams', async () => {
  assert.equal(
    await run(
      `const box = BOX.get('one');
       let left = 30;
       const content = new ReadableStream({ pull(controller) {
         if (left-- > 0) controller.enqueue(new Uint8Array(100_000).fill(7)); else controller.close(); } });
       await box.writeFile('large', content);
       let bytes = 0;
       for await (const chunk of await box.readFileStream('large')) bytes += chunk.byteLength;
       return bytes + ' ' + (await box.exec('wc -c < large')).stdout.trim();`,
    ),
    '3000000 3000000',
  );
});

test('a service that is away is said so, and found again', async () => {
  await service.goAway();
  assert.match(JSON.stringify(await run(`return BOX.get('one').exec('true');`)), /SandboxError.*sandbox_unavailable/);
  await service.comeBack();
  assert.equal(await run(`return (await BOX.get('one').exec('echo again')).stdout;`), 'again\n');
});
