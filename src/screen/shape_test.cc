#include "screen/shape.h"

#include <gtest/gtest.h>

#include <vector>

#include "screen/cells.h"

namespace drover {
namespace {

TEST(Shape, OfPythonErrors) {
  EXPECT_EQ(shape_of("ValueError: cannot reshape array of size 150528 into shape (3,224,224)"),
            "ValueError: cannot reshape array of size N into shape (N)");
  EXPECT_EQ(shape_of("FileNotFoundError: [Errno 2] No such file or directory: '/data/img 0001.png'"),
            "FileNotFoundError: [Errno N] No such file or directory: 'PATH'");
  EXPECT_EQ(shape_of("ModuleNotFoundError: No module named 'torch.cuda'"),
            "ModuleNotFoundError: No module named 'torch.cuda'");
  EXPECT_EQ(shape_of("AttributeError: 'NoneType' object has no attribute 'shape'"),
            "AttributeError: 'NoneType' object has no attribute 'shape'");
  EXPECT_EQ(shape_of("KeyError: 'img_00231'"), "KeyError: 'img_N'");
  EXPECT_EQ(shape_of("could not convert string to float: \"12 apples\""), "could not convert string to float: '…'");
  EXPECT_EQ(shape_of("  File \"/srv/app/train.py\", line 312, in step"), "File 'PATH', line N, in step");
  EXPECT_EQ(shape_of("PIL.UnidentifiedImageError: cannot identify image file <_io.BytesIO object at 0x7f3c2d1e5a40>"),
            "PIL.UnidentifiedImageError: cannot identify image file <_io.BytesIO object at H>");
  EXPECT_EQ(shape_of("requests.exceptions.HTTPError: 404 Client Error: Not Found for url: https://x.org/a/7?b=1"),
            "requests.exceptions.HTTPError: N Client Error: Not Found for url: https://PATH");
}

TEST(Shape, OfAcceleratorsAndMemory) {
  EXPECT_EQ(shape_of("RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 15.78 GiB total capacity; "
                     "14.2 GiB already allocated)"),
            "RuntimeError: CUDA out of memory. Tried to allocate N MiB (GPU N; N GiB total capacity; N GiB already "
            "allocated)");
  EXPECT_EQ(shape_of("CUDA error: device-side assert triggered at /opt/pytorch/aten/src/THC/THCReduceAll.cuh:327"),
            "CUDA error: device-side assert triggered at PATH:N");
  EXPECT_EQ(
      shape_of("../aten/src/ATen/native/cuda/Loss.cu:242: block: [0,0,0], thread: [5,0,0] Assertion `t >= 0` failed."),
      "PATH:N: block: [N], thread: [N] Assertion '…' failed.");
  EXPECT_EQ(shape_of("Out of memory: Killed process 12345 (python3) total-vm:1,234,567kB, anon-rss:99kB"),
            "Out of memory: Killed process N (pythonN) total-vm:NkB, anon-rss:NkB");
  EXPECT_EQ(shape_of("java.lang.OutOfMemoryError: Java heap space"), "java.lang.OutOfMemoryError: Java heap space");
}

TEST(Shape, OfShellsAndSystemTools) {
  EXPECT_EQ(shape_of("cat: frames/0042.jpg: No such file or directory"), "cat: PATH: No such file or directory");
  EXPECT_EQ(shape_of("cat: holiday.jpg: No such file or directory"), "cat: PATH: No such file or directory");
  EXPECT_EQ(shape_of("cp: cannot stat ‘x/y.csv’: Permission denied"), "cp: cannot stat 'PATH': Permission denied");
  EXPECT_EQ(shape_of("./run.sh: line 7: 31337 Segmentation fault      (core dumped) ./solver --in=/tmp/a1.bin"),
            "PATH: line N: N Segmentation fault (core dumped) PATH --in=PATH");
  EXPECT_EQ(shape_of("python[4242]: segfault at 8 ip 00007f1e2c3d4e5f sp 00007ffd11223344 error 4 in libc.so.6"),
            "python[N]: segfault at N ip H sp H error N in libc.so.N");
  EXPECT_EQ(shape_of("Cannot open C:\\Users\\me\\scan.dcm."), "Cannot open PATH.");
  EXPECT_EQ(shape_of("read/write or I/O error on dev 8:1, and/or a bad cable"),
            "read/write or I/O error on dev N:N, and/or a bad cable");
  EXPECT_EQ(shape_of("can't open user's file"), "can't open user's file");
  EXPECT_EQ(shape_of("connect to 10.0.0.17:5432 failed: timeout after 1e-05 s"),
            "connect to N:N failed: timeout after N s");
}

TEST(Shape, OfHexadecimalWords) {
  EXPECT_EQ(shape_of("object 9f86d081884c7d65 is missing"), "object H is missing");
  EXPECT_EQ(shape_of("object 1111222233334444 is missing"), "object H is missing");
  EXPECT_EQ(shape_of("job 123e4567-e89b-12d3-a456-426614174000 lost"), "job H lost");
  EXPECT_EQ(shape_of("facade deadline added decade"), "facade deadline added decade");
}

TEST(Shape, IsTheSameForLinesThatSayTheSame) {
  const std::vector<std::vector<std::string_view>> groups = {
      {"OSError: image file is truncated (12 bytes not processed): /data/a.jpg",
       "OSError: image file is truncated (1,024 bytes not processed): /data/very/deep/b c.jpg"},
      {"\x1b[31mError\x1b[0m:   batch 3 of 10 failed\n", "Error: batch 12 of 2000 failed"},
      {" 10%|#   \r 90%|### \rloss is nan at step 17", "loss is nan at step 923"},
  };
  EXPECT_NE(shape_of(groups[0][0]), shape_of(groups[1][0]));
  EXPECT_EQ(shape_of(groups[1][0]), shape_of(groups[1][1]));
  EXPECT_EQ(shape_of(groups[2][0]), shape_of(groups[2][1]));
}

TEST(Shape, IsShort) {
  EXPECT_EQ(cells_of(shape_of(std::string(5000, 'x'))), 160U);
  EXPECT_EQ(shape_of(""), "");
  EXPECT_EQ(shape_of("\xff\xfe"), "\uFFFD\uFFFD");
  EXPECT_EQ(shape_of("'"), "'");
  EXPECT_EQ(shape_of("''"), "''");
}

}  // namespace
}  // namespace drover
