// Runs inside every server process before the server's own code (`node --require`): what listens there answers on the
// Unix socket that engines connect to, and what connects elsewhere is led by the platform's way out (egress.ts). It
// enforces nothing: the process has a network that leads nowhere.
'use strict';
const dns = require('node:dns');
const http = require('node:http');
const module_ = require('node:module');
const net = require('node:net');
const path = require('node:path');
const tls = require('node:tls');

const folder = process.env.PLATFORM_SERVER_FOLDER;
if (folder !== undefined) {
  listen();
  connect();
  module_.syncBuiltinESMExports();
}

function listen() {
  const original = net.Server.prototype.listen;
  const wanted = Number(process.env.PORT);
  let chosen = null;
  let bridge = null;
  const answer = (server) => {
    const address = server.address();
    if (address === null || typeof address === 'string') return;
    // The one on PORT, and before it comes whichever listens.
    if (chosen === null || address.port === wanted) chosen = server;
    if (bridge !== null) return;
    bridge = net.createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
      for (const [name, value] of [
        ['remoteAddress', '127.0.0.1'],
        ['remoteFamily', 'IPv4'],
        ['remotePort', 0],
      ])
        Object.defineProperty(socket, name, { value, configurable: true });
      // Who closes idle connections is the engine: otherwise a request may meet one that is just being closed.
      chosen.keepAliveTimeout = 0;
      chosen.emit('connection', socket);
    });
    bridge.on('error', () => {});
    // Whom the folder around it lets pass may connect.
    original.call(bridge, { path: path.join(folder, 'own', 'http.sock'), writableAll: true });
    bridge.unref();
  };
  net.Server.prototype.listen = function (...args) {
    if (this instanceof http.Server) this.once('listening', () => answer(this));
    return original.apply(this, args);
  };
}

function connect() {
  const door = path.join(folder, 'doors', 'egress.sock');
  const isHere = (host) => host === undefined || host === '' || /^(?:localhost|127\..*|::1|0\.0\.0\.0|::)$/.test(host);
  const original = net.Socket.prototype.connect;

  /** @param {(error: Error | null, words: string[]) => void} done */
  const ask = (question, done) => {
    let text = '';
    const socket = original.call(new net.Socket(), { path: door });
    socket.setEncoding('utf8').on('data', (chunk) => (text += chunk));
    socket.once('error', (error) => done(error, []));
    socket.once('end', () => {
      const [code, ...words] = text.trim().split(' ');
      if (code === 'ok') done(null, words);
      else
        done(Object.assign(new Error(words.join(' ') || 'The way out is closed'), { code: code || 'ECONNRESET' }), []);
    });
    socket.write(`${question}\n`);
  };

  net.Socket.prototype.connect = function (...args) {
    const normalized = Array.isArray(args[0]) ? args[0] : net._normalizeArgs(args);
    const [options, onConnect] = normalized;
    if (options.path || isHere(options.host)) return original.apply(this, args);
    if (typeof onConnect === 'function') this.once('connect', onConnect);
    this.connecting = true;
    ask(`connect ${options.host} ${options.port}`, (error, [file]) => {
      if (this.destroyed) return;
      if (error !== null) {
        this.connecting = false;
        this.destroy(Object.assign(error, { syscall: 'connect', address: options.host, port: Number(options.port) }));
      } else original.call(this, { path: file });
    });
    return this;
  };

  const originalTls = tls.connect;
  tls.connect = function (...args) {
    const [options, onConnect] = net._normalizeArgs(args);
    const given =
      typeof args[0] === 'object'
        ? options
        : { ...args.find((each) => typeof each === 'object' && each !== null), ...options };
    if (given.socket || given.path || isHere(given.host)) return originalTls.apply(this, args);
    const socket = net.connect({ host: given.host, port: given.port });
    const secure = originalTls.call(
      this,
      { ...given, socket },
      ...(typeof onConnect === 'function' ? [onConnect] : []),
    );
    socket.once('error', (error) => secure.destroy(error));
    return secure;
  };

  const originalLookup = dns.lookup;
  const lookup = (host, options, done) => {
    if (typeof options === 'function') [options, done] = [{}, options];
    if (isHere(host) || net.isIP(host) !== 0) return originalLookup(host, options, done);
    const { all = false, family = 0 } = typeof options === 'number' ? { family: options } : options;
    ask(`lookup ${host}`, (error, words) => {
      const found = words.map((address) => ({ address, family: net.isIP(address) }));
      const fitting = found.filter((each) => family === 0 || each.family === Number(String(family).slice(-1)));
      if (error === null && fitting.length > 0)
        return all ? done(null, fitting) : done(null, fitting[0].address, fitting[0].family);
      done(
        Object.assign(new Error(`getaddrinfo ENOTFOUND ${host}`), {
          code: 'ENOTFOUND',
          syscall: 'getaddrinfo',
          hostname: host,
        }),
      );
    });
    return {};
  };
  dns.lookup = lookup;
  dns.promises.lookup = (host, options = {}) =>
    new Promise((resolve, reject) =>
      lookup(host, options, (error, address, family) =>
        error ? reject(error) : resolve(Array.isArray(address) ? address : { address, family }),
      ),
    );
}
