// Which databases have replicas. Pure.

/** Behind the name of a namespace with the storage of durable objects (core/object-address.ts). */
const OBJECTS = /~~~objects$/;

/** @param name `<namespace>/<resource>`; copies of a database have none. */
export function isReplicated(name: string, previews: boolean): boolean {
  const [namespace = '', resource = ''] = name.split('/');
  if (resource.includes('~at~')) return false;
  return previews || !(namespace.replace(OBJECTS, '').includes('~~') || resource.includes('~~'));
}
