// A host and a port as one text. Pure.

/**
 * An IPv6 address is in brackets, so that its last part is not parsed as a port.
 *
 * @example targetOf('npm.example', 443) // 'npm.example:443' targetOf('fd00::1', 443) // '[fd00::1]:443'
 */
export function targetOf(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
