// Event handlers of a project whose code runs in Node, part of the worker of worker.mjs: each event is sent to a
// route of the app, `POST /__platform/<event>`, whose response is its result. Never imported: worker-code.ts reads it
// as text. packages/dev/events.ts is the counterpart.

/** @param wire encoding of values: `encode`, `revive`, `encodeError`, and `linesOf` for input. */
export function createEventHandlers({ encode, revive, encodeError, linesOf }) {
  const encoder = new TextEncoder();
  const line = (value) => encoder.encode(`${JSON.stringify(value)}\n`);

  function toError({ name, message, code, cause }) {
    const error = new Error(String(message), cause === undefined ? {} : { cause: toError(cause) });
    error.name = String(name);
    return code === undefined ? error : Object.assign(error, { code });
  }

  async function post(event, { vars }, type, body) {
    const { PLATFORM_APP_URL: app, PLATFORM_APP_TOKEN: token } = vars;
    const route = `/__platform/${event}`;
    if (app === undefined || token === undefined)
      throw new Error(`No route handles POST ${route}: this project's server receives no events here`);
    const headers = { 'content-type': type, authorization: `Bearer ${token}` };
    const response = await fetch(`${app}${route}`, {
      method: 'POST',
      headers,
      body,
      duplex: 'half',
      redirect: 'manual',
    });
    if (response.status === 200) return response;
    const text = (await response.text()).slice(0, 200);
    throw new Error(
      `The app answers POST ${route} with ${response.status}${response.status === 404 ? ': it has no such route' : ` ${text}`}`,
    );
  }

  /** @returns the app's response. @throws the error that the app's handler threw. */
  async function tell(event, env, told) {
    const response = await post(event, env, 'application/json', JSON.stringify(encode(told)));
    return (await response.json()) ?? {};
  }

  function done({ error }) {
    if (error !== undefined) throw toError(error);
  }

  async function runWorkflow(workflow, { input, step, log, env, executionId }) {
    let send;
    const calls = new ReadableStream({
      start: (controller) => void (send = (value) => controller.enqueue(line(value))),
    });
    send({ workflow, executionId, input: encode(input) });
    const response = await post('workflow', env, 'application/x-ndjson', calls);
    /** Steps that run in the app. */
    const running = new Map();

    /** The app's work within a step, for each attempt of that step. */
    const runInApp = (id) =>
      new Promise((resolve, reject) => {
        running.set(id, { resolve, reject });
        send({ run: id });
      });

    async function take({ id, step: method, name, options, args }) {
      try {
        const result =
          method === 'run'
            ? await step.run(name, () => runInApp(id), revive(options))
            : await step[method](...revive(args));
        send({ id, result: encode(result) });
      } catch (error) {
        send({ id, error: encodeError(error) });
      }
    }

    for await (const said of linesOf(response.body)) {
      if ('output' in said) return revive(said.output);
      if ('failed' in said) throw toError(said.failed);
      if ('log' in said) log(...revive(said.log));
      else if ('ran' in said) {
        const ran = running.get(said.ran);
        running.delete(said.ran);
        if (said.error === undefined) ran?.resolve(revive(said.result));
        else ran?.reject(toError(said.error));
      } else if (['run', 'sleep', 'sleepUntil', 'waitForEvent'].includes(said.step)) void take(said);
    }
    throw new Error(`The app ended POST /__platform/workflow before the run of ${workflow} did`);
  }

  return {
    async message(event, env) {
      const { id, payload, attempt, timestamp, queueName, binding } = event;
      const said = await tell('message', env, { id, payload, attempt, timestamp, queueName, binding });
      if (said.retry !== undefined) event.retry(said.retry);
      else if (said.ack === true) event.ack();
      done(said);
    },
    async timer({ id, scheduledTime, payload, intervalMs, binding }, env) {
      done(await tell('timer', env, { id, scheduledTime, payload, intervalMs, binding }));
    },
    async scheduled(controller, env) {
      const { name, cron, scheduledTime } = controller;
      const said = await tell('scheduled', env, { name, cron, scheduledTime });
      if (said.noRetry === true) controller.noRetry();
      done(said);
    },
    /** The object has a member for every name, because only the app knows which workflows exist. */
    workflows: new Proxy(
      {},
      {
        get: (_target, name) => (context) => runWorkflow(String(name), context),
        getOwnPropertyDescriptor: () => ({ configurable: true, enumerable: true, value: null }),
      },
    ),
  };
}
