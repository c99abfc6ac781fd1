// The examples and the open-source apps of test/fixtures/apps/: what is asked of each, and what it answers. Used by the
// builder's tests (bundled, run by Node) and by the engine's (run in an isolate).

/** Requests in order, each with a part of the answer. */
export const apps: Readonly<Record<string, readonly [request: string, status: number, part: RegExp, body?: string][]>> =
  {
    'examples/hello': [
      ['GET /?name=Ada', 200, /^Hello Ada!/],
      ['GET /stream', 200, /^5\n4\n3\n2\n1\nlift-off\n$/],
    ],
    'examples/api': [
      ['POST /login', 200, /"token":"ey/, '{"name":"ada"}'],
      ['POST /login', 400, /Too small/, '{"name":""}'],
      ['GET /whoami', 401, /A valid token is needed/],
    ],
    'examples/chat': [
      ['GET /api/chat', 405, /POST/],
      ['POST /api/chat', 400, /messages/, '{"messages":[{"role":"system","content":"x"}]}'],
    ],
    'examples/spa': [['GET /api/cities', 200, /"Berlin"/]],
    'test/fixtures/apps/hono': [
      ['GET /users/7?q=1', 200, /\{"id":7,"query":\{"q":"1"\}\}/],
      ['GET /private/me', 401, /authorization/],
      ['GET /stream', 200, /one\ntwo\nthree/],
    ],
    'test/fixtures/apps/openapi': [
      ['GET /users/4', 200, /"name":"Ada"/],
      ['GET /users/x', 422, /must match pattern/],
      ['GET /openapi.json', 200, /"openapi":"3\.1\.0"/],
    ],
    'test/fixtures/apps/jose': [
      ['GET /hs256', 200, /admin/],
      ['GET /es256', 200, /ES256/],
      ['GET /eddsa', 200, /EdDSA/],
      ['GET /jwe', 200, /hidden/],
      ['GET /tampered', 401, /ERR_JWS_SIGNATURE_VERIFICATION_FAILED/],
    ],
    'test/fixtures/apps/react': [['GET /?name=Ada', 200, /<h1>Hello <!-- -->Ada<\/h1>.*waiting.*came later/]],
    'test/fixtures/apps/graphql': [
      [
        'POST /graphql',
        200,
        /"hello":"Hello Ada"/,
        '{"query":"query($n: String) { hello(name: $n) }","variables":{"n":"Ada"}}',
      ],
      ['POST /graphql', 200, /"text":"x"/, '{"query":"mutation { note(text: \\"x\\") { id text } }"}'],
      ['POST /graphql', 200, /on purpose|Unexpected error/, '{"query":"{ fails }"}'],
    ],
  };
