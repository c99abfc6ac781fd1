// Imported before a file of test/integration/ that starts a platform in its process: there the same tests run over a
// supervisor and engines that are processes. For test/control/.
process.env['TEST_PLATFORM'] = 'processes';
