// An item that does nothing.
int main() {
  return 0;
}
