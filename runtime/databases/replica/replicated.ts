// Determines which databases have replicas. Pure.

/** Suffix of namespaces that contain the storage of durable objects (core/object-address.ts). */
const OBJECTS = /~~~objects$/;

/** @param name `<namespace>/<resource>`; copies of a database are not replicated. */
export function isReplicated(name: string, previews: boolean): boolean {
  const [namespace = '', resource = ''] = name.split('/');
  if (resource.includes('~at~')) return false;
  return previews || !(namespace.replace(OBJECTS, '').includes('~~') || resource.includes('~~'));
}
